"""Summaries that are there and whole are read; all others are refused with the place of the fault."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hekat.errors import StateError
from hekat.report import load_summary, terminal_tables, verdict
from hekat.report.horizontal.byte_text import byte_sentences
from hekat.report.horizontal.findings import (
    clipping_sentence,
    difference_sentences,
    exactness_sentences,
    granularity_sentence,
    key_warning,
    round_sentence,
    time_sentences,
)
from hekat.report.horizontal.tables import party_table, role_byte_table, role_time_table

SAMPLE: dict[str, Any] = json.loads(Path(__file__).with_name("sample_summary.json").read_text(encoding="utf-8"))


def test_a_summary_comes_back_as_it_was_written(variant: dict[str, Any], run_folder: Callable[[Any], Path]) -> None:
    assert load_summary(run_folder(variant)) == variant


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"nowhere is no run folder.*nothing at that path.*cure: check the path"):
        load_summary(tmp_path / "nowhere")


def test_a_file_in_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StateError, match=r"is no run folder.*got a file"):
        load_summary(tmp_path / "file")


def test_a_folder_without_a_summary(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"holds no summary\.json.*cure: if the run stopped early, resume it"):
        load_summary(tmp_path)


def test_a_summary_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "summary.json").mkdir()
    with pytest.raises(StateError, match=r"summary\.json cannot be read; got Is a directory"):
        load_summary(tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00",
        b'{"format": 1,',
        b'{"format": 1, "convergence_bias": NaN}',
        b"[" * 200_000,
        b'["format"]',
        b"{}",
        b"3",
        json.dumps(SAMPLE).encode()[:5000],
    ],
    ids=["empty", "no UTF-8", "cut", "NaN", "deep", "list", "no format", "number", "cut later"],
)
def test_bytes_that_are_no_summary(data: bytes, run_folder: Callable[[Any], Path]) -> None:
    with pytest.raises(StateError, match=r"summary\.json is damaged or was not written by Hekat.*cure: restore it"):
        load_summary(run_folder(data))


def test_a_summary_too_large(
    sample: dict[str, Any], run_folder: Callable[[Any], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hekat.report.summary.MAX_SUMMARY_BYTES", 1000)
    with pytest.raises(StateError, match="expected at most 1000 bytes"):
        load_summary(run_folder(sample))


@pytest.mark.parametrize("version", [0, 2, "1", True, None, [1]])
def test_another_format_version(sample: dict[str, Any], run_folder: Callable[[Any], Path], version: Any) -> None:
    sample["format"] = version
    with pytest.raises(StateError, match=r"has another format; expected format 1, which hekat .* reads"):
        load_summary(run_folder(sample))


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("parties",), [], "a list with at least 1 entries at parties"),
        (("parties", 2, "rows"), "77", r"a whole number of at least 0 at parties\[2\]\.rows"),
        (("parties", 0, "rows"), -1, r"at parties\[0\]\.rows"),
        (("results", 1, "kind"), "other", r"'alone' or 'plain' or 'encrypted' at results\[1\]\.kind"),
        (("results", 0, "metrics", "accuracy"), None, r"a finite number at results\[0\]\.metrics\.accuracy"),
        (("exactness", 4, "bound"), "low", r"a finite number of at least 0 at exactness\[4\]\.bound"),
        (("settings", "protection"), "rot13", "'paillier' or 'none' at settings.protection"),
        (("bytes", "by_role", "county", "sent"), True, r"at bytes\.by_role\.county\.sent"),
        (("rounds", "encrypted", 0, "round"), 1.5, r"at rounds\.encrypted\[0\]\.round"),
        (("exactness", 4, "bound"), 1e300, r"a finite number of at least 0 at exactness\[4\]\.bound"),
        (("test_rows",), 2**70, "a whole number of at least 0 at test_rows"),
        (("aggregator_saw", 0), 7, r"a text at aggregator_saw\[0\]"),
    ],
)
def test_a_fault_is_named_with_its_place(
    sample: dict[str, Any], run_folder: Callable[[Any], Path], path: tuple[Any, ...], value: Any, told: str
) -> None:
    _put(sample, path, value)
    with pytest.raises(StateError, match=told):
        load_summary(run_folder(sample))


@pytest.mark.parametrize("key", [key for key in SAMPLE if key != "format"])
def test_a_missing_key_is_named(sample: dict[str, Any], run_folder: Callable[[Any], Path], key: str) -> None:
    del sample[key]
    with pytest.raises(StateError, match=f"it is missing at {key}"):
        load_summary(run_folder(sample))


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _places(item, (*path, key)))]


def _put(tree: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        tree = tree[key]
    tree[path[-1]] = value


def _take_out(tree: Any, path: tuple[Any, ...]) -> None:
    for key in path[:-1]:
        tree = tree[key]
    del tree[path[-1]]


PLACES = [place for place in _places(SAMPLE) if place and place[0] != "format"]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
)


def _say_everything(summary: dict[str, Any]) -> str:
    sentences: list[str | None] = [verdict(summary), key_warning(summary), granularity_sentence(summary)]
    sentences += [clipping_sentence(summary), round_sentence(summary)]
    for several in (difference_sentences, exactness_sentences, time_sentences, byte_sentences):
        sentences += several(summary)
    tables = [*terminal_tables(summary), party_table(summary), role_byte_table(summary), role_time_table(summary)]
    for table in tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    cells = [cell for table in tables for row in table.rows for cell in row]
    return " ".join([sentence for sentence in sentences if sentence] + cells)


@pytest.mark.long
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_is_changed_either_is_refused_or_can_be_reported(tmp_path: Path, data: st.DataObject) -> None:
    changed = copy.deepcopy(SAMPLE)
    place = data.draw(st.sampled_from(PLACES))
    if data.draw(st.booleans()):
        _take_out(changed, place)
    else:
        _put(changed, place, data.draw(VALUES))
    (tmp_path / "summary.json").write_text(json.dumps(changed), encoding="utf-8")
    try:
        summary = load_summary(tmp_path)
    except StateError:
        return
    said = _say_everything(summary)
    assert "None" not in said.replace("None of the", "")
    assert "nan" not in said.split()
