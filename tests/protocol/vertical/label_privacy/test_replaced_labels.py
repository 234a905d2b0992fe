"""A guest's labels are replaced before a training sees them, or the training is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hekat.data import Table
from hekat.data.ids import make_ids
from hekat.errors import InputError, JobError
from hekat.ledger.privacy.records import LabelsRecord
from hekat.protocol.vertical.label_privacy import LabelFlips, LabelQuestion, OwnLabels, RandomisedResponse
from hekat.protocol.vertical.label_privacy.replaced_labels import NEW_FLIPS, check_epsilon, replace_labels

CLASSES = ("repaid", "defaulted", "2")
TASK = SimpleNamespace(guest="bank", classes=CLASSES)


class Notes:
    """A ledger's notes."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, step: str, what: str, kind: str) -> None:
        self.told.append(what)


def table_of(classes: np.ndarray, *, has_ids: bool = True) -> Table:
    count = len(classes)
    ids = make_ids([f"p{row}" for row in range(count)], "bank") if has_ids else None
    return Table(np.zeros((count, 1)), np.array(CLASSES)[classes], ("income",), "bank", ids=ids)


def test_answers_stand_in_for_labels_by_the_names_of_classes(tmp_path) -> None:
    classes = np.random.default_rng(5).integers(0, 3, 200)
    flips, warned, ledger = LabelFlips.open_or_create(tmp_path / "flips", "bank"), [], Notes()
    table = table_of(classes)
    found = replace_labels(table, TASK, 1.0, OwnLabels(flips, "outcome", warned.append), ledger)
    expected = flips.flip(classes, table.ids, LabelQuestion("outcome", CLASSES), RandomisedResponse(1.0, 3))
    assert found.labels.tolist() == np.array(CLASSES)[expected].tolist()
    assert 40 < (found.labels != table.labels).sum() < 140
    assert found.ids is table.ids
    assert warned == [NEW_FLIPS]
    assert ledger.told[0].startswith("labels are flipped once for all runs, by randomised response at epsilon 1")
    assert LabelsRecord.NAME in ledger.told
    again, quiet = LabelFlips.open_or_create(tmp_path / "flips", "bank"), Notes()
    same = replace_labels(table.take(np.arange(50, 200)), TASK, 1.0, OwnLabels(again, "outcome", warned.append), quiet)
    assert same.labels.tolist() == found.labels[50:].tolist()
    assert len(warned) == 1
    assert NEW_FLIPS not in quiet.told


def test_rows_without_ids_and_a_site_without_flips_are_refused() -> None:
    classes, own = np.array([0, 1, 2]), OwnLabels(LabelFlips.in_memory("bank"), "outcome")
    with pytest.raises(InputError, match="label privacy needs ids of rows"):
        replace_labels(table_of(classes, has_ids=False), TASK, 1.0, own, Notes())
    with pytest.raises(InputError, match="label privacy has no flips"):
        replace_labels(table_of(classes), TASK, 1.0, None, Notes())


@pytest.mark.parametrize(
    ("epsilon", "classes", "words"),
    [
        (1.0, None, "only classes can be replaced"),
        (0.05, CLASSES, "from 0.1 to 8"),
        (9.0, CLASSES, "from 0.1 to 8"),
        (float("nan"), CLASSES, "from 0.1 to 8"),
    ],
)
def test_an_epsilon_that_bounds_nothing_is_refused_by_its_key(epsilon, classes, words: str) -> None:
    with pytest.raises(JobError, match=r"label_privacy\.epsilon refused") as refused:
        check_epsilon(epsilon, classes)
    assert words in str(refused.value)


def test_labels_as_they_are_need_no_epsilon() -> None:
    check_epsilon(None, None)
