"""Checkpoints and model files: exact round trips, and every kind of file that is not one."""

from __future__ import annotations

import io
import json
import math
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from hekat.errors import InputError, StateError
from hekat.state import Checkpoint, load_checkpoint, load_model, save_checkpoint, save_model
from hekat.state.array_file import HEADER, decode_arrays, encode_arrays

JOB = bytes(range(32))
TAKEN_NAMES = (HEADER, "", "file", "allow_pickle")


def make_checkpoint() -> Checkpoint:
    rng = np.random.default_rng(3)
    return Checkpoint(
        job_digest=JOB,
        rounds_done=7,
        parameters={"layer_1.weight": rng.normal(size=(4, 3)), "layer_1.bias": np.array([0.1, -0.0, 5e-324])},
        optimiser_state={"step_count": np.array(7.0), "velocity/layer_1.bias": rng.normal(size=3)},
        codec_state={"alpha/layer_1.bias": 0.1, "standardiser/mean": rng.normal(size=30)},
        metrics_history=({"loss": 0.1 + 0.2}, {"loss": math.inf}),
    )


def test_a_checkpoint_comes_back_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    saved = make_checkpoint()
    save_checkpoint(path, saved)
    loaded = load_checkpoint(path, JOB)
    assert loaded.rounds_done == 7
    assert loaded.job_digest == JOB
    assert loaded.metrics_history == saved.metrics_history
    for group in ("parameters", "optimiser_state"):
        before, after = getattr(saved, group), getattr(loaded, group)
        assert list(before) == list(after)
        for name in before:
            assert before[name].tobytes() == after[name].tobytes()
            assert (before[name].shape, before[name].dtype) == (after[name].shape, after[name].dtype)
    assert loaded.codec_state["alpha/layer_1.bias"] == 0.1
    assert type(loaded.codec_state["alpha/layer_1.bias"]) is float
    np.testing.assert_array_equal(loaded.codec_state["standardiser/mean"], saved.codec_state["standardiser/mean"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_later_checkpoint_takes_the_place_of_the_earlier(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    for rounds in (1, 2):
        save_checkpoint(path, Checkpoint(JOB, rounds, {"w": np.full(2, rounds, dtype=np.float64)}))
    assert load_checkpoint(path, JOB).rounds_done == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint.npz"]


def can_be_saved(name: str) -> bool:
    return "\0" not in name and name not in TAKEN_NAMES and not name.endswith(".npy")


@pytest.mark.long
@given(
    arrays=st.dictionaries(
        st.text(max_size=12).filter(can_be_saved),
        npst.arrays(
            st.sampled_from(["<f8", ">f8", "<i8", "<f4", "?", "u1"]), npst.array_shapes(min_dims=0, min_side=0)
        ),
        max_size=4,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_numeric_arrays_come_back(arrays: dict[str, Any]) -> None:
    try:
        data = encode_arrays("test", {"a": [1, None, "x"]}, arrays)
    except InputError:
        pytest.fail("numeric arrays were refused")
    metadata, loaded = decode_arrays(data, "test", "bytes")
    assert metadata == {"a": [1, None, "x"]}
    assert loaded.keys() == arrays.keys()
    for name, values in arrays.items():
        assert loaded[name].shape == values.shape
        assert loaded[name].dtype.itemsize == values.dtype.itemsize
        assert loaded[name].tobytes() == values.astype(values.dtype.newbyteorder("<")).tobytes()


def small_file() -> bytes:
    return encode_arrays("checkpoint", {"version": 1}, {"w": np.arange(3.0)})


@pytest.mark.parametrize("fraction", range(0, 40))
def test_a_truncated_file_is_refused(fraction: int) -> None:
    data = small_file()
    with pytest.raises(StateError, match="damaged or was not written by Hekat"):
        decode_arrays(data[: len(data) * fraction // 40], "checkpoint", "bytes")


def test_every_flipped_byte_is_refused_or_changes_nothing() -> None:
    data = small_file()
    metadata, arrays = decode_arrays(data, "checkpoint", "bytes")
    refused = 0
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0xFF
        try:
            got_metadata, got_arrays = decode_arrays(bytes(damaged), "checkpoint", "bytes")
        except StateError:
            refused += 1
            continue
        # What is left are bytes without meaning, such as time stamps of the zip's entries.
        assert got_metadata == metadata
        assert got_arrays.keys() == arrays.keys()
        assert got_arrays["w"].tobytes() == arrays["w"].tobytes()
    assert refused > 0.8 * len(data)


@pytest.mark.parametrize("change", ["array", "name", "metadata", "extra"])
def test_a_file_put_together_anew_is_refused(change: str) -> None:
    with np.load(io.BytesIO(small_file())) as archive:
        members = {name: archive[name] for name in archive.files}
    if change == "array":
        members["w"] = members["w"] + 1
    elif change == "name":
        members["v"] = members.pop("w")
    elif change == "extra":
        members["v"] = np.zeros(1)
    else:
        members[HEADER] = np.array(str(members[HEADER]).replace('\\"version\\": 1', '\\"version\\": 2'))
        assert '\\"version\\": 2' in str(members[HEADER])
    buffer = io.BytesIO()
    np.savez(buffer, **members)
    with pytest.raises(StateError, match="damaged"):
        decode_arrays(buffer.getvalue(), "checkpoint", "bytes")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all", b"PK\x03\x04" + bytes(200)])
def test_files_of_something_else(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(content)
    with pytest.raises(StateError, match=r"checkpoint .*checkpoint.npz is damaged"):
        load_checkpoint(path, JOB)
    with pytest.raises(StateError, match=r"model .* is damaged"):
        load_model(path)


def test_an_npz_of_python_objects_is_refused_unopened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    np.savez(tmp_path / "trap.npz", hekat=np.array([Trap()], dtype=object))
    with pytest.raises(StateError, match="damaged"):
        load_model(tmp_path / "trap.npz")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.long
def test_a_compressed_bomb_is_refused_unopened(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", hekat=np.zeros(10_000_000))
    with pytest.raises(StateError, match="damaged"):
        load_model(tmp_path / "bomb.npz")


def test_other_versions_kinds_and_jobs(tmp_path: Path) -> None:
    path = tmp_path / "file.npz"
    save_checkpoint(path, make_checkpoint())
    with pytest.raises(StateError, match=r"belongs to another job.*cure: resume with the job file it was made with"):
        load_checkpoint(path, bytes(32))
    with pytest.raises(StateError, match="expected a model; got a checkpoint"):
        load_model(path)
    metadata, arrays = decode_arrays(path.read_bytes(), "checkpoint", "file")
    path.write_bytes(encode_arrays("checkpoint", {**metadata, "version": 99}, arrays))
    with pytest.raises(StateError, match=r"expected format 1, which hekat .* reads; got format 99"):
        load_checkpoint(path, JOB)
    with np.load(path) as archive:
        members = {name: archive[name] for name in archive.files}
    header = json.loads(str(members[HEADER]))
    members[HEADER] = np.array(json.dumps({**header, "format": 2}))
    np.savez(path, **members)
    with pytest.raises(StateError, match="expected version 1; got version 2"):
        load_checkpoint(path, JOB)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="cannot be read; got No such file"):
        load_checkpoint(tmp_path / "missing.npz", JOB)
    with pytest.raises(StateError, match="cannot be read; got Is a directory"):
        load_model(tmp_path)


def test_a_full_disk_leaves_the_earlier_checkpoint(
    tmp_path: Path, disk_failure: tuple[str, int, str], failing_call: Callable[[str, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, make_checkpoint())
    failing_call(*disk_failure[:2])
    with pytest.raises(StateError, match=disk_failure[2]):
        save_checkpoint(path, Checkpoint(JOB, 8, {"w": np.zeros(1)}))
    monkeypatch.undo()
    assert load_checkpoint(path, JOB).rounds_done == 7
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    for parameters, metadata, message in [
        ({"w": np.array(["a"])}, {}, "array w cannot be saved"),
        ({"w": np.array([None])}, {}, "array w cannot be saved"),
        *(({name: np.zeros(1)}, {}, "a name that cannot be saved") for name in TAKEN_NAMES),
        *(({name: np.zeros(1)}, {}, "a name that cannot be saved") for name in ("w.npy", "w\0", ".npy")),
        ({"w": np.zeros(1)}, {"x": {1, 2}}, "metadata cannot be saved"),
    ]:
        with pytest.raises(InputError, match=message):
            save_model(path, parameters, metadata)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rounds_done >= 0"):
        save_checkpoint(path, Checkpoint(JOB, -1, {}))
    assert not path.exists()


def test_a_checkpoint_prints_no_values() -> None:
    assert "array" not in repr(make_checkpoint())


def test_a_model_opens_in_plain_numpy(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    weight = np.random.default_rng(4).normal(size=(30, 1))
    save_model(path, {"weight": weight, "bias": np.zeros(1)}, {"model": "logistic", "classes": ["malignant", "benign"]})
    with np.load(path, allow_pickle=False) as archive:
        assert sorted(archive.files) == ["bias", "hekat", "weight"]
        np.testing.assert_array_equal(archive["weight"], weight)
        assert json.loads(json.loads(str(archive["hekat"]))["metadata"])["model"] == "logistic"
    parameters, metadata = load_model(path)
    assert metadata == {"model": "logistic", "classes": ["malignant", "benign"]}
    assert parameters["weight"].tobytes() == weight.tobytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_same_model_is_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        save_model(tmp_path / name, {"w": np.arange(4.0)}, {"b": 1, "a": 2})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
