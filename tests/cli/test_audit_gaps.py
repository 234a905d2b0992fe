"""`hekat audit` on runs that are not whole: a ledger that is missing, cut off, or told of by others alone."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def run_folder(workplace, begin_with):
    begin_with(lambda: workplace.run())
    (folder,) = workplace.folders()
    return folder


def last_lines(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith("WARNING: ")]


@pytest.mark.long
def test_a_whole_run_has_no_warning(workplace, run_folder) -> None:
    answer = workplace.call("audit", run_folder)
    assert answer.code == 0
    assert last_lines(answer.out) == []
    content = json.loads(workplace.call("audit", run_folder, "--json").out)
    assert (content["missing"], content["unsigned"]) == ([], [])


def test_a_missing_ledger_is_said_last(workplace, run_folder) -> None:
    (run_folder / "ledger" / "east.jsonl").unlink()
    answer = workplace.call("audit", run_folder)
    assert answer.code == 1
    assert last_lines(answer.out) == ["WARNING: NO LEDGER of east: what it learned cannot be told"]
    assert answer.out.rstrip().splitlines()[-1].startswith("WARNING: NO LEDGER of east")
    as_json = workplace.call("audit", run_folder, "--json")
    assert as_json.code == 1
    assert json.loads(as_json.out)["missing"] == ["east"]


def test_a_party_removed_from_the_folder_is_told_of_by_the_others(workplace, run_folder) -> None:
    (run_folder / "ledger" / "east.jsonl").unlink()
    parties = json.loads((run_folder / "parties.json").read_text())
    del parties["east"]
    (run_folder / "parties.json").write_text(json.dumps(parties))
    answer = workplace.call("audit", run_folder)
    assert answer.code == 1
    assert "NO LEDGER of east" in answer.out


def test_a_ledger_without_its_end_is_said_last(workplace, run_folder) -> None:
    path = run_folder / "ledger" / "east.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    answer = workplace.call("audit", run_folder)
    assert answer.code == 1
    assert last_lines(answer.out) == ["WARNING: NOT SIGNED: the ledger of east; lines may be missing at its end"]
    assert json.loads(workplace.call("audit", run_folder, "--json").out)["unsigned"] == ["east"]
    assert workplace.call("audit", path).code == 1
    assert workplace.call("audit", run_folder, "--party", "east").code == 1
    assert workplace.call("audit", run_folder, "--party", "south").code == 0


@pytest.mark.parametrize("content", ["[1]", "3", "{", "[" * 100_000])
def test_a_parties_file_that_is_none(content, workplace, run_folder) -> None:
    (run_folder / "parties.json").write_text(content)
    answer = workplace.call("audit", run_folder)
    assert answer.code == 2
    assert "no public key for the ledger" in answer.err


def test_a_party_that_the_run_does_not_have(workplace, run_folder) -> None:
    answer = workplace.call("audit", run_folder, "--party", "nobody")
    assert answer.code == 2
    assert "no ledger of nobody" in answer.err
    assert "one of east, hub, north, south" in answer.err
