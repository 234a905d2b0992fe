"""Jobs that send a part of each update: their runs resume, and summary, report and ledger say so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.run.test_own_states import read_model, stopped_run

from hekat.state.array_file import decode_arrays, encode_arrays


def keep(workplace, by: str, rounds: int) -> None:
    workplace.edit("job.toml", r"\[training\]", f'[training]\nalgorithm = "fedavg"\nkeep = 0.5\nkeep_by = "{by}"')
    workplace.edit("job.toml", r"rounds = \d", f"rounds = {rounds}")


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    return decode_arrays(path.read_bytes(), "checkpoint" if "checkpoint" in path.name else "own state", "")[1]


@pytest.mark.long
@pytest.mark.parametrize("by", ["vote", "top_k"])
def test_a_resumed_run_ends_with_the_same_model(by, workplace, monkeypatch) -> None:
    keep(workplace, by, 4)
    stopped = stopped_run(workplace, monkeypatch, after=2)
    seen = {name for name in arrays_of(stopped / "checkpoint.npz") if "/seen/" in name}
    assert seen == ({"codec_state/seen/weight", "codec_state/seen/bias"} if by == "top_k" else set())
    owed = arrays_of(stopped / "own_states" / "east-round-2.npz")
    assert owed.keys() == {"owed/weight", "owed/bias"}
    resumed = workplace.run("--resume", stopped)
    assert resumed.code == 0, resumed.err
    again = read_model(workplace.folders()[-1])
    assert workplace.run().code == 0
    whole = read_model(workplace.folders()[-1])
    for name in whole:
        assert np.array_equal(whole[name], again[name]), name


@pytest.mark.long
def test_a_checkpoint_of_sums_that_cannot_be_is_refused(workplace, monkeypatch) -> None:
    keep(workplace, "top_k", 3)
    stopped = stopped_run(workplace, monkeypatch, after=1)
    path = stopped / "checkpoint.npz"
    metadata, arrays = decode_arrays(path.read_bytes(), "checkpoint", "")
    arrays["codec_state/seen/weight"] = -np.ones_like(arrays["codec_state/seen/weight"])
    path.write_bytes(encode_arrays("checkpoint", metadata, arrays))
    answer = workplace.run("--resume", stopped)
    assert answer.code == 2
    assert "seen/weight, magnitudes of sums" in answer.err


@pytest.mark.long
def test_summary_report_and_ledger_say_what_was_sent(workplace) -> None:
    keep(workplace, "vote", 2)
    answer = workplace.run("--json")
    assert answer.code == 0, answer.err
    summary = json.loads(answer.out)
    assert (summary["settings"]["keep"], summary["settings"]["keep_by"]) == (0.5, "vote")
    told = "parties send 50 % of the trained values in a round, those in the blocks that most parties vote for"
    assert any(told in caveat for caveat in summary["notes"])
    folder = workplace.folders()[-1]
    assert "which ones, agreed by" in (folder / "report.html").read_text()
    audit = workplace.call("audit", folder, "--json")
    assert told in audit.out


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("keep = 0.0", "setting training.keep refused"),
        ("keep = nan", "setting training.keep refused"),
        ('keep_by = "top_k"', "setting training.keep_by has no effect"),
        ('keep = 0.5\nkeep_by = "union"', "tell whose values are large"),
        ('keep = 0.5\nkeep_by = "own"', "every party has to send the same ones"),
        ('keep = 0.5\nalgorithm = "scaffold"', "setting training.keep refused"),
    ],
)
def test_what_cannot_be_is_refused(lines, words, workplace) -> None:
    workplace.edit("job.toml", r"\[training\]", f"[training]\n{lines}")
    answer = workplace.run()
    assert answer.code == 2
    assert words in answer.err
    assert workplace.folders() == []


@pytest.mark.parametrize("codec", ['rounding = "stochastic"', 'clipping = "daciq"'])
def test_codecs_under_which_nobody_knows_what_is_owed_are_refused(codec, workplace) -> None:
    workplace.edit("job.toml", r"\[training\]", f"[codec]\n{codec}\n\n[training]\nkeep = 0.5")
    answer = workplace.run()
    assert answer.code == 2
    assert "since keep leaves values at home" in answer.err
    assert workplace.folders() == []
