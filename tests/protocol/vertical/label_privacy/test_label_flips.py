"""Flips of labels: the same in every run on a row, of no use to whoever wants two answers, and never drawn anew."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from hekat.data import make_ids
from hekat.errors import InputError, PolicyError, StateError
from hekat.protocol.vertical.label_privacy import LabelFlips, LabelQuestion, RandomisedResponse

ROWS = 4_000
EPS_1 = RandomisedResponse(1.0, 2)
QUESTION = LabelQuestion("default", ("no", "yes"))
IDS = make_ids([f"customer {row}" for row in range(ROWS)], "bank")
# Eight standard deviations of the correlation of as many independent flips, which exceeds it once in 10^15 runs.
FAR = 8 / ROWS**0.5
LABELS = np.random.default_rng(51).integers(0, 2, ROWS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "label_flips"


def flipped(path: Path, labels=LABELS, ids=IDS, question=QUESTION, response=EPS_1, party="bank"):
    return LabelFlips.open_or_create(path, party).flip(labels, ids, question, response)


def test_every_run_on_a_row_gives_it_the_same_answer(path: Path) -> None:
    first = flipped(path)
    assert 0.2 < (first != LABELS).mean() < 0.34
    assert np.array_equal(flipped(path), first)
    some = np.random.default_rng(52).permutation(ROWS)[:700]
    assert np.array_equal(flipped(path, LABELS[some], IDS.take(some)), first[some])
    more = make_ids([f"customer {row}" for row in range(-50, ROWS)], "bank")
    assert np.array_equal(flipped(path, np.concatenate([LABELS[:50], LABELS]), more)[50:], first)


def test_classes_in_another_order_get_the_same_answers(path: Path) -> None:
    response = RandomisedResponse(1.0, 3)
    classes = np.random.default_rng(53).integers(0, 3, ROWS)
    one, other = LabelQuestion("grade", ("a", "b", "c")), LabelQuestion("grade", ("c", "a", "b"))
    first = np.array(one.classes)[flipped(path, classes, question=one, response=response)]
    moved = np.array([1, 2, 0])[classes]
    again = np.array(other.classes)[flipped(path, moved, question=other, response=response)]
    assert np.array_equal(first, again)


def test_an_older_copy_of_the_file_gives_the_same_answers(path: Path) -> None:
    LabelFlips.open_or_create(path, "bank")
    old = path.read_bytes()
    first = flipped(path)
    path.write_bytes(old)
    assert np.array_equal(flipped(path), first)


def test_answers_to_another_question_and_of_another_party_are_independent(path: Path, tmp_path: Path) -> None:
    kept = flipped(path) == LABELS
    other = flipped(path, question=LabelQuestion("churn", ("no", "yes"))) == LABELS
    elsewhere = flipped(tmp_path / "elsewhere", party="shop") == LABELS
    for again in (other, elsewhere, LabelFlips.in_memory("bank").flip(LABELS, IDS, QUESTION, EPS_1) == LABELS):
        assert abs(np.corrcoef(kept, again)[0, 1]) < FAR


def test_a_corrected_label_is_answered_for_anew(path: Path) -> None:
    """With one flip for both labels of a row, two different answers would tell that the label was corrected."""
    first, corrected = flipped(path), flipped(path, 1 - LABELS)
    assert 0.3 < (first == corrected).mean() < 0.5  # 2 f (1 - f) = 0.39; one flip for both would give 0


def test_the_answers_of_both_classes_are_independent_of_the_draws_of_rows_beside(path: Path) -> None:
    kept = flipped(path) == LABELS
    assert abs(np.corrcoef(kept[:-1], kept[1:])[0, 1]) < FAR


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"response": RandomisedResponse(2.0, 2)}, "other epsilon before; expected epsilon 1,.* got epsilon 2"),
        ({"question": LabelQuestion("default", ("no", "maybe"))}, "other classes before"),
        ({"ids": make_ids({"passport": [f"p{row}" for row in range(ROWS)]}, "bank")}, "other id columns before"),
    ],
)
def test_fresh_flips_of_the_same_rows_are_refused(path: Path, changed, words: str) -> None:
    first = flipped(path)
    before = path.read_bytes()
    with pytest.raises(PolicyError, match=words):
        flipped(path, **changed)
    assert path.read_bytes() == before
    assert np.array_equal(flipped(path), first)


def test_fresh_flips_are_refused_in_memory_too() -> None:
    flips = LabelFlips.in_memory("bank")
    first = flips.flip(LABELS, IDS, QUESTION, EPS_1)
    assert np.array_equal(flips.flip(LABELS, IDS, QUESTION, EPS_1), first)
    with pytest.raises(PolicyError, match="other epsilon"):
        flips.flip(LABELS, IDS, QUESTION, RandomisedResponse(0.5, 2))


def test_rows_without_ids_are_refused() -> None:
    with pytest.raises(InputError, match="label privacy needs ids of rows"):
        LabelFlips.in_memory("bank").flip(LABELS, None, QUESTION, EPS_1)


@pytest.mark.parametrize("labels", [LABELS[1:], LABELS + 1, LABELS - 1, LABELS[:, np.newaxis]])
def test_labels_that_do_not_fit_are_refused(labels) -> None:
    with pytest.raises(InputError, match="class numbers refused"):
        LabelFlips.in_memory("bank").flip(labels, IDS, QUESTION, EPS_1)


@pytest.mark.parametrize("names", [("no", "no"), ("a", "b", "c")])
def test_classes_that_do_not_fit_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="classes do not fit label privacy"):
        LabelFlips.in_memory("bank").flip(LABELS, IDS, LabelQuestion("default", names), EPS_1)


def test_the_file_is_the_owners_alone_and_nothing_shows_its_key(path: Path) -> None:
    flips = LabelFlips.open_or_create(path, "bank")
    flips.flip(LABELS, IDS, QUESTION, EPS_1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    key = path.read_text().split("\nkey ")[1][:64]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StateError) as caught:
        LabelFlips.open_or_create(path, "bank")
    assert key not in repr(flips) + str(caught.value) + flips.digest.hex()


def test_a_damaged_file_is_refused_and_never_begun_anew(path: Path) -> None:
    flipped(path)
    whole = path.read_bytes()
    cut = [whole[:end] for end in (0, 1, len(whole) // 2, len(whole) - 1)]
    turned = [whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in range(0, len(whole), 7)]
    for data in (*cut, *turned, whole + b"\n", b"hekat counter 1\n0\n", b"\xff" * 300):
        path.write_bytes(data)
        with pytest.raises(StateError, match="refused"):
            LabelFlips.open_or_create(path, "bank")
        assert path.read_bytes() == data


def test_the_flips_of_another_party_are_refused(path: Path) -> None:
    flipped(path)
    with pytest.raises(StateError, match="another party's"):
        LabelFlips.open_or_create(path, "shop")


def test_a_file_that_changes_under_a_run_is_refused(path: Path, tmp_path: Path) -> None:
    flips = LabelFlips.open_or_create(path, "bank")
    flips.flip(LABELS, IDS, QUESTION, EPS_1)
    flipped(tmp_path / "others")
    (tmp_path / "others").replace(path)
    with pytest.raises(StateError, match="that this run began with"):
        flips.flip(LABELS, IDS, QUESTION, EPS_1)
    path.unlink()
    with pytest.raises(StateError):
        flips.flip(LABELS, IDS, QUESTION, EPS_1)


def test_runs_at_once_note_their_questions_in_one_file(path: Path) -> None:
    one, other = LabelFlips.open_or_create(path, "bank"), LabelFlips.open_or_create(path, "bank")
    one.flip(LABELS, IDS, QUESTION, EPS_1)
    other.flip(LABELS, IDS, LabelQuestion("churn", ("no", "yes")), EPS_1)
    with pytest.raises(PolicyError):
        one.flip(LABELS, IDS, LabelQuestion("churn", ("no", "yes")), RandomisedResponse(2.0, 2))
    assert one.digest == other.digest == LabelFlips.open_or_create(path, "bank").digest
