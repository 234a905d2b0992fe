"""`hekat run --dry-run`: every check of a run, then what a round costs; no folder is made and nothing is sent."""

from __future__ import annotations

import json

import pytest


def paths(workplace) -> list[str]:
    return sorted(str(path.relative_to(workplace.folder)) for path in workplace.folder.rglob("*"))


def test_it_tells_bytes_and_seconds_and_writes_nothing(workplace) -> None:
    before = paths(workplace)
    answer = workplace.run("--dry-run", "--verbose")
    assert answer.code == 0, answer.err
    assert paths(workplace) == before
    for words in ("Round 2 under lattice", "north", "hub", "Seconds of that round", "Eqs. 11 to 13", "paillier"):
        assert words in answer.out
    assert "nothing was written or sent" in answer.out
    assert "on the line" not in answer.out


@pytest.mark.long
def test_json_holds_what_a_run_then_reports(workplace) -> None:
    told = json.loads(workplace.run("--dry-run", "--json", "--bandwidth", 100, "--latency", 20).out)
    own, other = told["protections"]
    assert (told["rounds"], own["protection"], other["protection"]) == (2, "lattice", "paillier")
    roles = {role["role"]: role for role in own["roles"]}
    assert roles.keys() == {"north", "east", "south", "hub"}
    assert all(role["transfer_s"] > 0 for role in roles.values())
    summary = json.loads(workplace.run("--json").out)["bytes"]
    assert summary["update_sealed"] + summary["to_openers_sealed"] == roles["north"]["sent_bytes"]
    assert summary["sum_sealed"] + summary["from_openers_sealed"] == roles["north"]["received_bytes"]
    assert (told["update_values"], told["float32_bytes"]) == (
        summary["update_values"],
        summary["float32_per_update"],
    )


def test_only_protections_that_the_site_allows_are_compared(workplace) -> None:
    workplace.edit("site.toml", r"\[policy\]", '[policy]\nprotections = ["lattice", "none"]')
    told = json.loads(workplace.run("--dry-run", "--json").out)
    assert [cost["protection"] for cost in told["protections"]] == ["lattice", "none"]


def test_a_protection_that_the_job_cannot_have_is_left_out_with_its_reason(workplace) -> None:
    """A Paillier job of a layout that lattice has not: the comparison takes lattice's own."""
    workplace.use_paillier()
    workplace.edit("job.toml", r"\[training\]", '[codec]\nlayout = "offset"\n\n[training]')
    answer = workplace.run("--dry-run")
    assert answer.code == 0, answer.err
    assert "Round 2 under paillier" in answer.out
    assert "lattice" in answer.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--dry-run", "--resume", "x"), "begins nothing"),
        (("--dry-run", "--lose", "east:1"), "begins nothing"),
        (("--bandwidth", "100"), "with --dry-run"),
        (("--start-from", "runs/x"), "--start-from has no use for a job of protocol 'horizontal'"),
        (("--dry-run", "--start-from", "runs/x"), "--start-from has no use"),
        (("--latency", "20"), "with --dry-run"),
        (("--dry-run", "--latency", "20"), "--latency without --bandwidth"),
        (("--dry-run", "--bandwidth", "0"), "no such network"),
        (("--dry-run", "--bandwidth", "nan"), "no such network"),
        (("--dry-run", "--bandwidth", "-5"), "no such network"),
        (("--dry-run", "--bandwidth", "10", "--latency", "-1"), "no such network"),
        (("--dry-run", "--bandwidth", "fast"), "invalid float"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together(options, words, workplace) -> None:
    before = paths(workplace)
    answer = workplace.run(*options)
    assert answer.code == 2
    assert words in answer.err
    assert paths(workplace) == before


@pytest.mark.parametrize(
    ("file", "pattern", "replacement", "words"),
    [
        ("job.toml", "rounds = 2", "rounds = 0", "training.rounds"),
        ("job.toml", "weight_max = 100", "weight_max = 3", "more rows"),
        ("site.toml", 'label = "ill"', 'label = "well"', "has no column"),
        ("site.toml", 'path = "east.csv"', 'path = "west.csv"', "west.csv"),
        ("job.toml", 'kind = "lattice"', 'kind = "none"', "does not allow"),
        ("east.csv", r"^[-0-9.]+,", "old,", "holds texts"),
    ],
)
def test_what_a_run_refuses_a_dry_run_refuses(file, pattern, replacement, words, workplace) -> None:
    workplace.edit(file, pattern, replacement)
    before = paths(workplace)
    answer = workplace.run("--dry-run")
    assert answer.code == 2
    assert words in answer.err
    assert paths(workplace) == before


def test_what_is_odd_about_rows_is_told_before_anything_runs(workplace) -> None:
    """A number with a point between thousands is read as a fraction: its owner hears of it, and of no value."""
    path = workplace.folder / "east.csv"
    header, *lines = path.read_text().splitlines()
    odd = [f"{line},{850 - number if number else 1.234}" for number, line in enumerate(lines)]
    for name in ("north", "south"):
        other = (workplace.folder / f"{name}.csv").read_text().splitlines()
        (workplace.folder / f"{name}.csv").write_text(
            "\n".join([f"{other[0]},paid", *(f"{line},{1000 + n}" for n, line in enumerate(other[1:]))]) + "\n"
        )
    path.write_text("\n".join([f"{header},paid", *odd]) + "\n")
    answer = workplace.run("--dry-run")
    assert answer.code == 0, answer.err
    assert "warning     east: column 'paid': look for points between thousands" in " ".join(answer.out.split("\n"))
    assert "every check passed" in answer.out
    told = json.loads(workplace.run("--dry-run", "--json").out)
    assert any("thousands" in note for note in told["notes"]["east"])
    assert told["notes"]["north"] == []
