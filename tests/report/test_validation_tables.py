"""Tables of validation: who was measured on what, round by round, and nothing where nothing was held out."""

from __future__ import annotations

from hekat.report.horizontal.findings import verdict
from hekat.report.horizontal.validation_tables import (
    validation_points,
    validation_round_table,
    validation_sentence,
    validation_table,
)


def metrics(loss: float) -> dict[str, float]:
    return {"rows": 40, "accuracy": 0.9, "log_loss": loss, "auc": 0.95, "auc_error": 0.0125}


def summary_of(losses: list[float], final: dict[str, float], *, every: int = 1, test: bool = False) -> dict:
    rounds = [
        {
            "round": number,
            "loss": 0.5,
            "metrics": {"accuracy": 0.8} if test else {},
            "validation": metrics(loss) if (number - 1) % every == 0 else {},
        }
        for number, loss in enumerate(losses, 1)
    ]
    return {
        "parties": [{"name": name} for name in "abc"],
        "settings": {"protection": "lattice", "rounds": len(losses)},
        "test_rows": None,
        "rounds": {"encrypted": rounds},
        "results": [
            {"name": "a alone", "kind": "alone", "metrics": {}, "validation": {**metrics(0.6), "rows": 12}},
            {"name": "encrypted federated", "kind": "encrypted", "metrics": {}, "validation": final},
        ],
    }


def test_models_stand_with_the_rows_they_were_measured_on_and_how_far_their_auc_can_be_off() -> None:
    table = validation_table(summary_of([0.7, 0.5], metrics(0.4)))
    assert table is not None
    assert table.columns[1] == "held-out rows"
    assert table.rows[0][:2] == ("a alone", "12")
    assert table.rows[1] == ("encrypted federated", "40", "90.0%", "0.4000", "0.9500 ± 0.0125")
    assert "its own" not in table.note
    assert "that party's own held-out rows" in table.note


def test_each_line_by_round_is_of_one_model() -> None:
    table = validation_round_table(summary_of([0.7, 0.6, 0.5, 0.45], metrics(0.4), every=3, test=True))
    assert table is not None
    assert [row[0] for row in table.rows] == ["1", "4", "end"]
    # The test set is measured after a round: round 4 begins with what round 3 ended with.
    assert [row[-1] for row in table.rows] == ["–", "80.0%", "80.0%"]
    assert [row[2] for row in table.rows] == ["0.7000", "0.4500", "0.4000"]


def test_many_rounds_are_thinned_and_the_last_ones_stay() -> None:
    table = validation_round_table(summary_of([1 / number for number in range(1, 101)], metrics(0.01)))
    assert table is not None
    assert len(table.rows) <= 13
    assert [row[0] for row in (table.rows[0], *table.rows[-2:])] == ["1", "100", "end"]


def test_the_sentence_says_where_the_loss_was_least() -> None:
    assert validation_sentence(summary_of([0.7, 0.5], metrics(0.4))) == (
        "On rows that the parties held out log-loss went from 0.7000 to 0.4000."
    )
    worse = validation_sentence(summary_of([0.7, 0.3, 0.5], metrics(0.6)))
    assert worse is not None
    assert "least, 0.3000, it was at the start of round 2" in worse
    assert validation_points(summary_of([0.7], metrics(0.4)), "encrypted", "log_loss") == [(1, 0.7), (2, 0.4)]


def test_without_a_test_set_the_verdict_is_of_the_held_out_rows() -> None:
    said = verdict(summary_of([0.7], metrics(0.4)))
    assert "it is right for 90.0% of 40 rows that the parties held out; there was no common test set" in said


def test_nothing_held_out_makes_no_table() -> None:
    summary = summary_of([0.7, 0.5], {})
    for item in (*summary["rounds"]["encrypted"], *summary["results"]):
        item["validation"] = {}
    assert validation_table(summary) is None
    assert validation_round_table(summary) is None
    assert validation_sentence(summary) is None
