"""The report of a run under protection `lattice`: bytes, steps, roles, losses, in words that fit it."""

from __future__ import annotations

from typing import Any

import pytest

from hekat.report import terminal_findings, terminal_tables
from hekat.report.horizontal.aggregator_table import aggregator_table
from hekat.report.horizontal.byte_text import byte_sentences, byte_table
from hekat.report.horizontal.dropouts import dropout_headline, dropout_sentences, sample_sentences
from hekat.report.horizontal.findings import difference_sentences, key_warning, time_sentences
from hekat.report.horizontal.page import render_page
from hekat.report.horizontal.steps import explain_step, step_names
from hekat.report.horizontal.tables import party_table
from hekat.report.summary import load_summary


def lose(summary: dict[str, Any], party: str, number: int | None, reason: str = "disk full") -> None:
    step = "standardise/mean/begin" if number is None else f"round-{number}/upload-9/block"
    summary["lost"].append({"party": party, "step": step, "round": number, "reason": reason})


def test_a_summary_with_losses_is_read_back(lattice, run_folder) -> None:
    lose(lattice, "county", 5)
    lose(lattice, "lakeview", None)
    assert load_summary(run_folder(lattice)) == lattice


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda s: s["lost"].append({"party": "x", "step": "y", "round": -1, "reason": ""}), "lost[0].round"),
        (lambda s: s["included"].append({"first": 1, "last": 2, "parties": [3]}), "included[1].parties[0]"),
        (lambda s: s["bytes"].update(to_openers_sealed="many"), "bytes.to_openers_sealed"),
        (lambda s: s["settings"].update(openers=3), "settings.openers"),
        (lambda s: s["settings"].update(protection="latice"), "settings.protection"),
    ],
)
def test_a_summary_that_is_damaged_says_where(change, place, lattice, run_folder) -> None:
    change(lattice)
    with pytest.raises(Exception, match="is damaged") as caught:
        load_summary(run_folder(lattice))
    assert place in str(caught.value)


def test_bytes_are_those_of_masks_and_shares(lattice) -> None:
    labels = [row[0] for row in byte_table(lattice).rows]
    assert "shares and sums of shares, sent to those who open" in labels
    assert "room in one chunk, in numbers" in labels
    assert not any("ciphertext" in label or "Eq. 1" in label for label in labels)
    said = " ".join(byte_sentences(lattice))
    assert "Masked these take 127 B" in said
    assert "39.4 kB go to those who open the sum" in said
    assert "23 bits a value up, 0.719 times the size of float32 (calculated from parameter set A16-16" in said
    assert "small model" in said
    assert "Paillier" not in said + " ".join(labels)
    assert "shares, signatures and seals" in " ".join(time_sentences(lattice))
    assert key_warning(lattice) is None


def test_what_opens_a_sum_is_told_apart_only_where_it_goes_past_the_aggregator(lattice) -> None:
    apart = [row[0] for row in byte_table(lattice).rows if "shares" in row[0]]
    assert len(apart) == 4
    lattice["bytes"] |= {"to_openers_sealed": 0, "from_openers_sealed": 0}
    assert not any("shares" in row[0] for row in byte_table(lattice).rows)
    assert "with what opens the sum, signatures, checks" in " ".join(byte_sentences(lattice))


def test_a_large_model_pays_no_price(lattice) -> None:
    lattice["packing"]["lane_count"] = lattice["packing"]["lanes_per_ciphertext"]
    assert "small model" not in " ".join([*byte_sentences(lattice), *time_sentences(lattice)])


def test_steps_are_explained_for_the_protection(lattice, sample) -> None:
    assert step_names(lattice).index("deal") < step_names(lattice).index("encrypt")
    assert (explain_step(lattice, "encrypt"), explain_step(sample, "encrypt")) == (
        "masking the update",
        "encrypting the update",
    )
    assert explain_step(lattice, "train") == explain_step(sample, "train")
    assert explain_step(lattice, "of another release") == ""


def test_roles_say_who_opens(lattice) -> None:
    assert {row[1] for row in party_table(lattice).rows[:5]} == {"party, member of the committee"}
    lattice["settings"]["openers"] = ["northside"]
    assert [row[1] for row in party_table(lattice).rows[:2]] == ["party, member of the committee", "party"]
    lattice["settings"] |= {"opening": "shared", "openers": []}
    assert [row[1] for row in party_table(lattice).rows[:2]] == ["party, makes the shared key", "party"]
    lattice["settings"] |= {"opening": "authority", "openers": ["notary"]}
    assert [row[:2] for row in party_table(lattice).rows[-3:-1]] == [
        ("aggregator", "aggregator, no private key"),
        ("notary", "key authority, opens sums"),
    ]


@pytest.mark.long
def test_nobody_lost_is_not_spoken_of(lattice, sample) -> None:
    for summary in (lattice, sample):
        assert (dropout_headline(summary), dropout_sentences(summary)) == (None, [])
        assert "Lost on the way" not in [finding.title for finding in terminal_findings(summary)]
        assert "Lost on the way" not in render_page(summary)


def test_one_lost_party_is_told_everywhere(lattice) -> None:
    lose(lattice, "county", 5, "<b>disk full</b>")
    names = [party["name"] for party in lattice["parties"]]
    lattice["included"] = [
        {"first": 1, "last": 4, "parties": names},
        {"first": 5, "last": 20, "parties": [name for name in names if name != "county"]},
    ]
    assert dropout_headline(lattice) == "Lost on the way: county in round 5. Four parties went on without it."
    assert dropout_sentences(lattice) == [
        "county was lost in round 5, in step round-5/upload-9/block: <b>disk full</b>.",
        "Whose updates are in the sums: rounds 1 to 4: all 5 parties; rounds 5 to 20: all 5 parties but county.",
    ]
    assert any("kept every party" in sentence for sentence in difference_sentences(lattice))
    assert "party, member of the committee, lost in round 5" in [row[1] for row in party_table(lattice).rows]
    page = render_page(lattice)
    assert '<p class="caution">Lost on the way: county in round 5.' in page
    assert "&lt;b&gt;disk full" in page
    assert "<b>disk" not in page


@pytest.mark.parametrize("step", ["final/model", "validation/final"])
def test_a_party_that_was_lost_at_the_end_was_not_lost_before_the_first_round(lattice, step) -> None:
    lose(lattice, "county", None)
    lattice["lost"][-1]["step"] = step
    assert dropout_headline(lattice).startswith("Lost on the way: county after the last round.")


def test_several_lost_parties(lattice) -> None:
    lose(lattice, "county", None)
    lose(lattice, "lakeview", 7)
    lose(lattice, "riverside", 7)
    lattice["included"] = [{"first": 7, "last": 7, "parties": ["northside", "saint-anne"]}]
    assert dropout_headline(lattice) == (
        "Lost on the way: county before round 1, lakeview in round 7 and riverside in round 7. "
        "Two parties went on without them."
    )
    assert dropout_sentences(lattice)[-1] == "Whose updates are in the sums: round 7: northside and saint-anne."


def test_what_the_aggregator_saw_stays_short(lattice) -> None:
    table = aggregator_table(lattice)
    assert len(table.rows) == 4
    assert table.rows[-1][0] == "public"
    assert table.rows[-1][1] == "upload-counter, released-groups, …/upload-*/dealt, …/upload-*/statement"
    assert "A … stands for each of standardise/scale, round-*." in table.note
    assert ("…/upload-*/block", "every party", "nothing without: the party's secret of this upload") in [
        row[1:] for row in table.rows
    ]


def test_the_page_and_the_tables_of_a_lattice_run(lattice) -> None:
    page = render_page(lattice)
    assert "about 140 bits classical by the lattice estimator (MATZOV), about 113 to 115 by core-SVP" in page
    assert "who opens sums" in page
    assert "shares, to those who open" not in page  # letters of plots are paths
    assert "key size in bits" not in page
    assert [table.title for table in terminal_tables(lattice)][-1] == "Bytes of one update"


@pytest.mark.long
def test_samples_are_counted_by_party(lattice) -> None:
    names = [party["name"] for party in lattice["parties"]]
    lattice["settings"] |= {"participation": 0.6, "sample_size": 3}
    lattice["included"] = [
        {"first": 1, "last": 2, "parties": names[:3]},
        {"first": 3, "last": 3, "parties": names[2:]},
        {"first": 4, "last": 4, "parties": names[3:]},
    ]
    assert sample_sentences(lattice) == [
        "Each round has the updates of 3 of 5 parties; of 4 rounds, northside in 2, lakeview in 2, saint-anne in 3, "
        "riverside in 2 and county in 2.",
        "Rounds with fewer, since a party of their sample was lost: round 4 (2).",
    ]
    lose(lattice, "saint-anne", 4)
    assert len(dropout_sentences(lattice)) == 1
    titles = [finding.title for finding in terminal_findings(lattice)]
    assert titles.index("Whose updates are in the sums") == titles.index("Lost on the way") - 1
    assert "Each round has the updates of 3 of 5 parties" in render_page(lattice)


def test_of_many_parties_the_least_and_the_most_are_told(lattice) -> None:
    lattice["parties"] = [{"name": f"p{number}", "rows": 3, "class_rows": None} for number in range(30)]
    lattice["settings"] |= {"participation": 0.1, "sample_size": 3}
    lattice["included"] = [{"first": 1, "last": 1, "parties": ["p1", "p2", "p3"]}]
    assert sample_sentences(lattice) == [
        "Each round has the updates of 3 of 30 parties; of 1 round, each of them in 0 to 1."
    ]


def test_without_samples_nothing_is_said_of_them(lattice, sample) -> None:
    assert sample_sentences(lattice) == sample_sentences(sample) == []
