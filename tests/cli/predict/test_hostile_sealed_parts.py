"""Parts of a sealed network that are damaged, or made to do harm: refused in words, with exit code 2, and nothing
written."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.cli.predict.hostile import Change, at, change, check_refused, damage, drop, every, put, say
from tests.cli.predict.test_hostile_network_parts import JOB, predict, train

SEALED_JOB = (
    JOB[: JOB.index("[column_leak]")]
    .replace("guest_width = 3\nhost_width = 4\n", "")
    .replace("epochs = 1", "epochs = 9")
    + 'form = "sealed"\n'
)
SHARE = "part/sealed_share"

HOSTILE: dict[str, tuple[Change, str]] = {
    "no shares": (drop(SHARE), "other arrays than a sealed network's"),
    "shares of a host beside": (put("part/share/insurer", [1]), "other arrays than a sealed network's"),
    "shares that are numbers": (change(SHARE, lambda one: one.astype(np.float64)), "shares of another kind or shape"),
    "fewer shares": (change(SHARE, lambda one: one[:-1]), "shares of another kind or shape"),
    "a limb less": (change(SHARE, lambda one: one[..., :1]), "shares of another kind or shape"),
    "a unit more": (lambda facts, arrays: facts["network"].update(units=5), "shares of another kind or shape"),
    "features in place of columns": (say(host_bottom="frozen"), "a sealed network of other parties, task or columns"),
    "three classes": (
        say(task="multiclass", classes=["a", "b", "c"]),
        "a sealed network of other parties, task or columns",
    ),
    "two hosts": (
        every(say(hosts=["insurer", "shop"]), say(widths={"bank": 3, "insurer": 2, "shop": 1})),
        "a sealed network of other parties, task or columns",
    ),
    "a width of more columns": (
        say(widths={"bank": 4, "insurer": 3}),
        "a sealed network of other parties, task or columns",
    ),
    "a bottom of its own": (say(bottom_kind="dense"), "a bottom of no kind"),
    "a mean of NaN": (change("part/means", at(0, np.nan)), "a standardiser of other columns, or no numbers"),
    "form shared": (say(form="shared"), "does not say how to predict"),
    "a form of nobody": (say(form="open"), "a part of no form"),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run's folder called run, and what it was made of."""
    return train(tmp_path_factory.mktemp("loans"), SEALED_JOB)


@pytest.fixture
def folder(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, a copy of `trained`."""
    shutil.copytree(trained, tmp_path / "loans")
    monkeypatch.chdir(tmp_path / "loans")
    return tmp_path / "loans"


def test_the_sound_parts_predict(folder: Path) -> None:
    assert predict() == 0
    assert (folder / "answers.csv").exists()


@pytest.mark.quick_values
@pytest.mark.parametrize("party", ["bank", "insurer"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_part_is_refused_in_words(party: str, name: str, folder: Path, capsys) -> None:
    make, words = HOSTILE[name]
    damage(folder / "run" / "parts" / f"{party}.npz", "network part", make)
    check_refused(predict, folder, words, capsys)
