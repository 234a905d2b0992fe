"""What one party alone carries on (scaffold, error feedback): its files, and runs that are taken up from them."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from hekat.state.array_file import decode_arrays, encode_arrays


def use_scaffold(workplace, rounds: int = 4, *more: str) -> None:
    lines = "\n".join(('[training]\nalgorithm = "scaffold"', *more))
    workplace.edit("job.toml", r"\[training\]", lines)
    workplace.edit("job.toml", r"rounds = \d", f"rounds = {rounds}")


def read_model(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "model.npz") as loaded:
        return {name: loaded[name] for name in loaded.files if name != "hekat"}


def stopped_run(workplace, monkeypatch, *, after: int) -> Path:
    """The folder of a run whose parties fail at the beginning of the round after `after`."""
    from hekat.protocol.horizontal.training import loop as training

    original = training.local_update
    calls: list[int] = []

    def fail(*arguments, **named):
        calls.append(1)
        if len(calls) > 3 * after:
            raise RuntimeError("rehearsed")
        return original(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(training, "local_update", fail)
        assert workplace.run().code == 2
    return workplace.folders()[-1]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["lattice", "paillier"])
def test_a_resumed_run_of_scaffold_ends_with_the_same_model(kind, workplace, monkeypatch) -> None:
    use_scaffold(workplace, 4, "error_feedback = true")
    if kind == "paillier":
        workplace.use_paillier()
    stopped = stopped_run(workplace, monkeypatch, after=2)
    files = sorted(path.name for path in (stopped / "own_states").iterdir())
    assert files == sorted(f"{party}-round-{n}.npz" for party in ("north", "east", "south") for n in (1, 2))
    assert stat.S_IMODE((stopped / "own_states").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (stopped / "own_states").iterdir()} == {0o600}
    resumed = workplace.run("--resume", stopped)
    assert resumed.code == 0, resumed.err
    again = read_model(workplace.folders()[-1])
    assert workplace.run().code == 0
    whole = read_model(workplace.folders()[-1])
    assert whole.keys() == again.keys()
    for name in whole:
        assert np.array_equal(whole[name], again[name]), name
    newest = {path.name for path in (workplace.folders()[-1] / "own_states").iterdir()}
    assert newest == {f"{party}-round-{n}.npz" for party in ("north", "east", "south") for n in (3, 4)}


@pytest.mark.long
def test_a_party_that_was_lost_takes_up_what_it_last_had(five) -> None:
    use_scaffold(five, 4)
    answer = five.run("--lose", "south:2", "--lose", "west:3")
    assert answer.code == 2
    (folder,) = five.folders()
    assert {path.name for path in (folder / "own_states").iterdir() if "south" in path.name} == {"south-round-1.npz"}
    resumed = five.run("--resume", folder)
    assert resumed.code == 0, resumed.err
    files = {path.name for path in (five.folders()[-1] / "own_states").iterdir()}
    assert {"south-round-3.npz", "south-round-4.npz", "west-round-4.npz"} <= files


def damage_bytes(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def damage_round(path: Path) -> None:
    shutil.copy(path.with_name("east-round-1.npz"), path)


def damage_party(path: Path) -> None:
    shutil.copy(path.with_name("north-round-2.npz"), path)


def damage_values(path: Path) -> None:
    metadata, arrays = decode_arrays(path.read_bytes(), "own state", "")
    name = sorted(arrays)[0]
    path.write_bytes(encode_arrays("own state", metadata, {**arrays, name: arrays[name] * np.nan}))


def damage_names(path: Path) -> None:
    metadata, arrays = decode_arrays(path.read_bytes(), "own state", "")
    path.write_bytes(encode_arrays("own state", metadata, {f"{name}x": values for name, values in arrays.items()}))


@pytest.mark.long_cases("damage_bytes-is damaged or was not written by Hekat")
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damage_bytes, "is damaged or was not written by Hekat"),
        (damage_round, "another round"),
        (damage_party, "another party"),
        (damage_values, "NaN or infinity"),
        (damage_names, "other tensors"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_before_anything_is_written(
    damage, words, workplace, begin_with, monkeypatch
) -> None:
    def stop() -> None:
        use_scaffold(workplace)
        stopped_run(workplace, monkeypatch, after=2)

    begin_with(stop)
    (stopped,) = workplace.folders()
    damage(stopped / "own_states" / "east-round-2.npz")
    answer = workplace.run("--resume", stopped)
    assert answer.code == 2
    assert words in " ".join(answer.err.split())
    assert "cure" in answer.err
    assert workplace.folders() == [stopped]


def killed_as_the_second_round_is_saved(workplace, monkeypatch) -> Path:
    """The folder of a run that ends as its first party has saved round 2, and no other party its own state of it."""
    from hekat.launch.horizontal import in_process

    saved: list[str] = []
    save, save_own = in_process.SharedObserver.save, in_process.SharedObserver.save_own

    def save_first(self, role, own):
        if own.round == 2:
            saved.append(role)
        if own.round < 2 or saved == [role]:
            save_own(self, role, own)

    def die(self, state):
        told = save(self, state)
        if state.rounds_done == 2:
            raise RuntimeError("rehearsed")
        return told

    with monkeypatch.context() as patch:
        patch.setattr(in_process.SharedObserver, "save_own", save_first)
        patch.setattr(in_process.SharedObserver, "save", die)
        assert workplace.run().code == 2
    folder = workplace.folders()[-1]
    assert saved
    assert [path.name for path in (folder / "own_states").glob("*-round-2.npz")] == [f"{saved[0]}-round-2.npz"]
    return folder


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["scaffold", "fedavg"])
def test_a_run_that_is_killed_between_two_parties_saving_goes_on_from_the_round_that_all_have(
    algorithm, workplace, monkeypatch
) -> None:
    use_scaffold(workplace, 4, "error_feedback = true")
    workplace.edit("job.toml", '"scaffold"', f'"{algorithm}"')
    killed = killed_as_the_second_round_is_saved(workplace, monkeypatch)
    resumed = workplace.run("--resume", killed)
    assert resumed.code == 0, resumed.err
    again = workplace.folders()[-1]
    first = next(line for line in map(json.loads, (again / "events.jsonl").open()) if line["event"] == "resumed")
    assert first["rounds_done"] == 1
    assert workplace.run().code == 0
    whole = read_model(workplace.folders()[-1])
    for name, values in read_model(again).items():
        assert np.array_equal(whole[name], values), name


@pytest.mark.long
def test_a_resumed_run_that_is_killed_so_in_its_first_round_goes_on_from_its_own_folder(workplace, monkeypatch) -> None:
    """The resumed run has the checkpoint that it began with before it saves another."""
    use_scaffold(workplace, 3)
    stopped = stopped_run(workplace, monkeypatch, after=1)
    run = workplace.run
    with monkeypatch.context() as patch:
        patch.setattr(workplace, "run", lambda: run("--resume", stopped))
        killed = killed_as_the_second_round_is_saved(workplace, monkeypatch)
    assert killed != stopped
    assert run("--resume", killed).code == 0
    assert run().code == 0
    again, whole = map(read_model, workplace.folders()[-2:])
    for name, values in whole.items():
        assert np.array_equal(again[name], values), name


@pytest.mark.long
def test_a_file_that_is_missing_of_both_rounds_is_named(workplace, begin_with, monkeypatch) -> None:
    def stop() -> None:
        use_scaffold(workplace)
        stopped_run(workplace, monkeypatch, after=2)

    begin_with(stop)
    (stopped,) = workplace.folders()
    for path in (stopped / "own_states").glob("east-*"):
        path.unlink()
    answer = workplace.run("--resume", stopped)
    assert answer.code == 2
    words = "the file that east alone kept of the run is missing expected: east-round-2.npz"
    assert words in " ".join(answer.err.split())
    assert workplace.folders() == [stopped]


@pytest.mark.long
def test_a_run_that_needs_no_such_states_writes_none(workplace) -> None:
    assert workplace.run().code == 0
    assert not (workplace.folders()[-1] / "own_states").exists()


@pytest.mark.long
def test_control_variates_are_in_no_file_that_parties_share(workplace) -> None:
    use_scaffold(workplace)
    assert workplace.run().code == 0
    folder = workplace.folders()[-1]
    _, own = decode_arrays((folder / "own_states" / "east-round-4.npz").read_bytes(), "own state", "")
    _, shared = decode_arrays((folder / "checkpoint.npz").read_bytes(), "checkpoint", "")
    assert own.keys() == {"control/weight", "control/bias"}
    assert "codec_state/control/weight" in shared
    for name, values in shared.items():
        assert values.shape != own["control/weight"].shape or not np.array_equal(values, own["control/weight"]), name


@pytest.mark.long
def test_the_summary_names_the_algorithm_and_counts_what_was_sent(workplace) -> None:
    use_scaffold(workplace, 2, 'optimiser = "yogi"', "stop_at_loss = 0.001", "error_feedback = true")
    workplace.edit("job.toml", r"\[protection\]", "[training.optimiser_settings]\nbeta_1 = 0.5\n\n[protection]")
    workplace.edit("job.toml", r"\[training\]", '[model]\nname = "logistic"\nparameters = ["weight"]\n\n[training]')
    answer = workplace.run("--json")
    assert answer.code == 0, answer.err
    summary = json.loads(answer.out)
    settings = summary["settings"]
    assert settings["algorithm"] == "scaffold"
    assert settings["optimiser_settings"] == ["beta_1 = 0.5"]
    assert (settings["error_feedback"], settings["stop_at_loss"]) == (True, 0.001)
    assert settings["parameters"] == ["weight"]
    # The weights of three columns, and the control variate of each.
    assert summary["bytes"]["update_values"] == 6
    page = (workplace.folders()[-1] / "report.html").read_text()
    assert "error feedback" in page
    assert "beta_1 = 0.5" in page
    assert np.array_equal(read_model(workplace.folders()[-1])["bias"], [0.0])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('algorithm = "fedproxy"', "did you mean 'fedprox'?"),
        ('algorithm = "fedavg"\nproximal_mu = 0.01', "training.proximal_mu has no effect"),
        ('optimiser = "adamm"', "did you mean 'adam'?"),
        ("stop_at_los = 0.1", "did you mean stop_at_loss?"),
        ("error_feedback = 1", "training.error_feedback has the wrong type"),
        ('algorithm = "fedsgd"\nlocal_epochs = 2', "fedsgd sends one gradient a round"),
    ],
)
def test_a_job_whose_algorithm_is_written_wrong(line, words, workplace) -> None:
    workplace.edit("job.toml", r"\[training\]", f"[training]\n{line}")
    answer = workplace.run()
    assert answer.code == 2
    assert words in answer.err
    assert workplace.folders() == []


def test_a_pattern_that_matches_nothing_is_refused_with_the_names_there_are(workplace) -> None:
    workplace.edit("job.toml", r"\[training\]", '[model]\nname = "logistic"\nparameters = ["layer_1.*"]\n\n[training]')
    answer = workplace.run()
    assert answer.code == 2
    assert "no parameter matches the pattern 'layer_1.*'" in answer.err
    assert "weight, bias" in answer.err
    assert workplace.folders() == []
