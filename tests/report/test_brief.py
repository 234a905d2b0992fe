"""A run in short: warnings and unusual caveats are in it whatever happens; routine ones are left to the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hekat.report import brief_of
from hekat.report.brief import place_sentence, unusual_caveats

FOLDER = Path(__file__).parent
COMMITTEE = (
    "no key opens an update: 4 of 5 committee members open each sum, of at least 4 parties; 1 of them may be lost. "
    "This holds against the aggregator {}"
)


def facts(summary: dict[str, Any]) -> dict[str, str]:
    return dict(brief_of(summary).facts)


def vertical(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / "vertical_linear" / f"sample_{name}_summary.json").read_text())
    return content


def test_every_kind_of_run_has_a_brief(variant) -> None:
    brief = brief_of(variant)
    assert [label for label, _ in brief.facts] == ["result", "protected", "time", "bytes", "checked"]
    assert all(text for _, text in brief.facts)
    measured = any(result["metrics"] for result in variant["results"])
    assert (brief.table is not None) is measured


def test_a_run_without_protection_says_that_nothing_is_protected(unprotected) -> None:
    assert facts(unprotected)["protected"].startswith("NOTHING: the aggregator saw every party's update in the clear.")
    summary = vertical("arbiter")
    summary["settings"]["protection"] = "none"
    assert facts(summary)["protected"].startswith("NOTHING: parties saw each other's residuals and gradients")


@pytest.mark.parametrize(
    ("whom", "told"),
    [
        ("alone", "Each party's update, from the aggregator as long as no party works with it."),
        ("together with up to 2 parties", "even from the aggregator together with up to 2 parties."),
        ("together with up to 3 parties, up to 1 of them members", "up to 3 parties, up to 1 of them members."),
    ],
)
def test_a_committee_is_told_with_whom_the_aggregator_may_work(lattice, whom, told) -> None:
    lattice["notes"] = [COMMITTEE.format(whom)]
    found = facts(lattice)["protected"]
    assert told in found
    assert "4 of 5 committee members open each sum, of at least 4 parties; no key opens an update." in found
    assert brief_of(lattice).caveats == ()


@pytest.mark.parametrize("trust", ["the key authority notary opens the sums", "all parties share one key: trust"])
def test_another_opening_is_told_in_the_words_of_its_caveat(lattice, trust) -> None:
    lattice["notes"] = [trust]
    assert facts(lattice)["protected"] == f"Each party's update, from the aggregator. {trust[0].upper()}{trust[1:]}."


def test_clipped_values_and_sums_beyond_their_bound_are_warnings(sample) -> None:
    before = brief_of(sample).warnings
    sample["clipped"] = {"count": 3, "of": 1000}
    sample["exactness"][0] |= {"largest_error": 2.0, "bound": 1.0}
    added = [warning for warning in brief_of(sample).warnings if warning not in before]
    assert added[0] == "1 sum BEYOND THE STATED BOUND: this is a defect, please report it."
    assert added[1].startswith("3 of the 1,000 values that the parties sent in all rounds (0.300%)")


def test_a_run_that_was_not_compared_says_so(sample) -> None:
    assert "without encryption" in facts(sample)["time"]
    sample["seconds"] |= {"plain": None, "ratio": None}
    assert "Not compared: no plain run was made beside it." in facts(sample)["time"]
    assert "was not checked" not in facts(sample)["checked"]
    sample["exactness"] = []
    assert facts(sample)["checked"].startswith("Not checked in this run")


def test_parties_that_compared_no_models_are_named_unless_it_is_all(sample) -> None:
    told = "{} did not compare its final model with county: nothing came from it"
    sample["notes"] = [told.format(name) for name in ("northside", "lakeview")]
    assert "northside and lakeview did not compare final models with county: nothing came from it." in (
        brief_of(sample).warnings
    )
    sample["notes"] += [told.format(name) for name in ("saint-anne", "riverside")]
    assert "Nobody compared the final model with county: nothing came from it." in brief_of(sample).warnings


def test_of_many_models_trained_alone_three_are_listed(sample) -> None:
    main = sample["results"][-1]
    sample["results"] = [
        *({"name": f"bank-{n} alone", "kind": "alone", "metrics": {"rmse": 100.0 + n}} for n in range(20)),
        {**main, "metrics": {"rmse": 90.0}},
    ]
    assert [row[0] for row in brief_of(sample).table.rows] == [
        "best of 20 alone, bank-0",
        "middle of 20 alone, bank-10",
        "worst of 20 alone, bank-19",
        main["name"],
    ]


def test_without_a_test_set_held_out_rows_are_measured_on(sample) -> None:
    for result in sample["results"]:
        result["metrics"], result["validation"] = {}, {"rows": 50, "accuracy": 0.9, "auc": 0.8, "auc_error": 0.01}
    table = brief_of(sample).table
    assert table.columns == ("", "accuracy", "AUC")
    assert table.note == "Measured on held-out rows; a model trained alone on that party's own."


def test_a_loss_that_still_falls_warns_where_no_stop_rule_ended_the_run(sample) -> None:
    made = sample["rounds"]["encrypted"]
    made[-1]["loss"] = made[-6]["loss"] * 0.9
    sample["settings"]["rounds"] = made[-1]["round"]
    assert len(made) == 20
    assert any("still falling, by 10.0% over the last 5 rounds." in warning for warning in brief_of(sample).warnings)
    sample["settings"]["rounds"] += 1  # so a rule ended it
    assert not any("still falling" in warning for warning in brief_of(sample).warnings)


def test_caveats_that_are_not_known_to_be_routine_are_told() -> None:
    routine = ["roles took turns at the measured steps", "bank: ids are texts", "ids are whole numbers: 7 is 7"]
    odd = ["bank: ids are texts; some texts are digits with zeros in front", "something new", "a: filled", "b: filled"]
    assert unusual_caveats([*routine, *odd]) == (
        "something new",
        "bank: ids are texts; some texts are digits with zeros in front",
        "a, b: filled",
    )
    assert unusual_caveats(odd, told=odd) == ()
    assert unusual_caveats(str(number) for number in range(12))[-1] == "4 more caveats: the report lists them"


def test_a_vertical_run_tells_what_gradients_tell_and_with_whom_not_to_work() -> None:
    found = facts(vertical("arbiter"))["protected"]
    assert "which holds the key, works with none of them" in found
    assert "linear equations on what the others hold" in found
    assert "no party sees a gradient or a weight, each keeps shares." in facts(vertical("shared"))["protected"]


def test_what_a_vertical_job_waived_and_began_with_is_told() -> None:
    summary = vertical("arbiter")
    summary["learned"] = [{**found, "waived": True} for found in summary["learned"]]
    summary["started_from"] = "20260101T000000Z-abcdef"
    brief = brief_of(summary)
    assert sum("WAIVED" in warning for warning in brief.warnings) == 2
    assert "Training began with the weights of run 20260101T000000Z-abcdef" in dict(brief.facts)["result"]


@pytest.mark.parametrize(
    ("caveats", "told"),
    [
        ([], ""),
        (["all roles ran on this one machine"], " Here all roles ran in one process, which held every party's rows."),
        (
            ["one machine plays all roles, and more"],
            " Here one machine plays all roles and holds every party's rows; another run knows nothing of what this "
            "one opened.",
        ),
        (
            ["all roles ran on this one machine", "every role ran in a process of its own on this machine"],
            " Here every role ran in a process of its own on this machine.",
        ),
        (
            ["one machine plays all roles", "every role ran in a process of its own on this machine"],
            " Here every role ran in a process of its own on this machine; another run knows nothing of what this one "
            "opened.",
        ),
    ],
)
def test_where_the_roles_ran_is_told(caveats, told) -> None:
    assert place_sentence(caveats) == told
