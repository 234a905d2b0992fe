"""Label privacy of regressions and trees on columns in the shape of scikit-learn, as jobs have it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from hekat.data import Table
from hekat.errors import InputError, JobError, PolicyError
from hekat.estimator import (
    VerticalGradientBoostingClassifier,
    VerticalGradientBoostingRegressor,
    VerticalLinearRegression,
    VerticalLogisticRegression,
)
from hekat.protocol.vertical.label_privacy import LabelFlips

BINS = "the guest may learn bins of hosts"
KINDS = {
    "regression": lambda **more: VerticalLogisticRegression(
        protection="none", epochs=1, batch_rows=60, learning_rate=0.3, **more
    ),
    "trees": lambda **more: VerticalGradientBoostingClassifier(
        protection="none", max_iter=1, max_depth=2, bin_leak_accepted=BINS, **more
    ),
}
NUMBERS = {
    "regression": VerticalLinearRegression(protection="none", label_privacy=1.0),
    "trees": VerticalGradientBoostingRegressor(protection="none", bin_leak_accepted=BINS, label_privacy=1.0),
}


def tables(*, has_ids: bool = True) -> dict[str, Table]:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] > 0, "repaid", "defaulted")
    ids = list(range(60)) if has_ids else None
    return {
        "bank": Table(X[:, :2], y, ("income", "debt"), "bank", ids=ids),
        "shop": Table(X[:, 2:], None, ("orders", "returns"), "shop", ids=ids),
    }


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """What labels were replaced by, in every fit."""
    given: list[np.ndarray] = []
    flip = LabelFlips.flip
    monkeypatch.setattr(LabelFlips, "flip", lambda self, *told: given.append(flip(self, *told)) or given[-1])
    return given


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_replaced_once_before_anything_is_trained(kind: str, answers: list, tmp_path: Path) -> None:
    model = clone(KINDS[kind](label_privacy=1.0, intersection=None))
    model.fit(tables())
    told = model.ledgers_["bank"].privacy
    assert [(one.epsilon, one.classes) for one in told.labels] == [(1.0, 2)]
    assert model.ledgers_["shop"].privacy is None
    assert {part.label_privacy for part in model.parts_.values()} == {1.0}
    model.fit(tables())
    kept = {"label_flips": tmp_path / "flips", "label_privacy": 1.0, "intersection": None}
    for _ in range(2):
        KINDS[kind](**kept).fit(tables())
    first, again, filed, filed_again = answers
    assert np.array_equal(first, again)
    assert np.array_equal(filed, filed_again)
    # By chance alike with odds of 1e-13.
    assert not np.array_equal(first, filed)
    with pytest.raises(PolicyError, match="other epsilon"):
        KINDS[kind](**{**kept, "label_privacy": 3.0}).fit(tables())


@pytest.mark.parametrize("kind", KINDS)
def test_what_bounds_nothing_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match="label privacy needs ids of rows"):
        KINDS[kind](label_privacy=1.0).fit(tables(has_ids=False))
    with pytest.raises(JobError, match=r"label_privacy refused.*from 0.1 to 8"):
        KINDS[kind](label_privacy=9.0).fit(tables())
    numbers = tables()
    numbers["bank"] = Table(numbers["bank"].features, np.arange(60.0), ("income", "debt"), "bank", ids=list(range(60)))
    with pytest.raises(JobError, match=r"label_privacy refused.*only classes can be replaced"):
        NUMBERS[kind].fit(numbers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_guest_at_its_own_site_replaces_labels_by_a_file(kind: str) -> None:
    model = KINDS[kind](label_privacy=1.0, guest="bank")
    channel = SimpleNamespace(party="bank", parties=("bank", "shop"))
    with pytest.raises(JobError, match="needs a file"):
        model.fit_party(tables()["bank"], channel, classes=("defaulted", "repaid"))
