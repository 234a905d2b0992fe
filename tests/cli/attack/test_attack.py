"""`hekat attack`: page and scores of a small net, every way to name rows and masks, refusals, and an early end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.privacy import Mask
from hekat.run.horizontal.saved_mask import load_saved_mask
from hekat.state import Checkpoint, save_checkpoint
from hekat.wire import to_bytes

torch = pytest.importorskip("torch", reason="needs hekat[torch]")


@pytest.fixture(autouse=True, scope="module")
def libraries() -> None:
    """Libraries that load where tests need them: every worker collects this file, and one runs it."""
    pytest.importorskip("skimage", reason="needs hekat[attacks]")
    pytest.importorskip("sewar", reason="needs hekat[attacks]")


NET = """
import torch
from torch import nn

def build(column_count, output_count, width=12):
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(column_count, width), nn.Sigmoid(), nn.Linear(width, output_count))

def frozen():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3)).requires_grad_(False)

def narrow():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 2))

class Rounded(nn.Linear):
    def forward(self, rows):
        return super().forward(torch.round(rows.flatten(1)))

def rounded():
    return Rounded(64, 3)

class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows):
        return rows * rows
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, slope):
        return slope

def once():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3), Square())

class Square(nn.Module):
    def forward(self, rows):
        return Once.apply(rows)

def other_rows():
    return nn.Linear(9, 3)

def text():
    return "no module"

class Texts(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.top = nn.Embedding(50, 8), nn.Linear(8, 2)

    def forward(self, tokens):
        return self.top(self.words(tokens).mean(dim=1))

def texts():
    torch.manual_seed(1)
    return Texts()
"""
SITE = """
format = 1
[common_models.wide-net]
function = "net:build"
arguments = { width = 20 }
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a net and six pictures of 8 x 8, in which the command runs."""
    dice = np.random.default_rng(3)
    (tmp_path / "net.py").write_text(NET, encoding="utf-8")
    np.savez(tmp_path / "rows.npz", features=dice.random((6, 1, 8, 8)), labels=np.array([0, 1, 2, 0, 1, 2]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def attack(*words: str, model: str = "net.py:build", rows: str = "rows.npz", out: str = "tried") -> int:
    quick = ("--steps", "20", "--restarts", "1")
    return main(["attack", model, "--rows", rows, "--out", out, *quick, *words])


def scores(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    return found


def test_page_and_scores_of_the_default_masks(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert attack("--steps", "60") == 0
    found = scores(place / "tried")
    assert [mask["name"] for mask in found["masks"]] == ["none", "p=0.1,random", "p=0.1,map"]
    assert [mask["masked"] for mask in found["masks"]] == [0, 82, 82]
    assert found["complete"]
    assert found["rows"]["updates"] == [[0], [1]]
    assert len(found["trials"]) == 6
    first = found["trials"][0]
    assert first["labels_read"] == 1.0
    assert first["scores"][0]["ssim"]["value"] > 0.9
    assert abs(first["scores"][0]["ssim"]["floor"]) < 0.2
    page = (place / "tried" / "page.html").read_text(encoding="utf-8")
    assert page.count("<img ") == 2 * 4
    assert "lower bounds on leakage" in page
    assert "img-src data:" in page
    assert not re.search(r"(?:src|href)=\"(?!data:image/png;base64,)", page)
    assert "brought back readable rows without a mask" in capsys.readouterr().out
    assert (place / "tried").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (place / "tried").iterdir()} == {0o600}


def test_every_kind_of_mask_is_taken(place: Path) -> None:
    sizes = {"1.weight": 64 * 12, "1.bias": 12, "3.weight": 36, "3.bias": 3}
    (place / "saved.mask").write_bytes(to_bytes(Mask.everything(sizes)))
    save_run(
        place / "run.npz", Mask.from_arrays({n: np.full(k, n == "3.weight") for n, k in sizes.items()}).packed_bits
    )
    masks = ("layers=1.*", "layers=1.weight;3.bias", "p=1,random", "saved.mask", "run.npz", "none", "none")
    assert attack("--take", "4", *(word for mask in masks for word in ("--mask", mask))) == 0
    found = scores(place / "tried")
    assert [mask["masked"] for mask in found["masks"]] == [780, 771, 819, 819, 36, 0]
    hidden = found["trials"][3]
    assert (hidden["objective"], hidden["scores"]) == (None, [{}])
    assert "nothing is visible" in (place / "tried" / "page.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_batch_in_local_steps_and_the_naive_attacker(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--batch-rows", "2", "--take", "0,4", "--local-steps", "2", "--learning-rate", "0.1", "--mask", "none")
    assert attack(*words, "--attack", "inverting-gradients", "--attacker", "naive", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["trials"][0]["rows"] == [0, 4]
    assert told["trials"][0]["labels_read"] >= 0.5
    assert told["attack"]["update"] == "2 local steps, unrolled"
    assert "does not know the mask" in (place / "tried" / "page.html").read_text(encoding="utf-8")


def test_a_sites_model_and_a_table_of_flat_pictures(place: Path) -> None:
    (place / "site.toml").write_text(SITE, encoding="utf-8")
    arrays = np.load("rows.npz")
    lines = [",".join([*(f"pixel_{number}" for number in range(64)), "digit"])]
    for row, label in zip(arrays["features"].reshape(6, 64), arrays["labels"], strict=True):
        lines.append(",".join([*(f"{value:.4f}" for value in row), str(label)]))
    (place / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ("--site", "site.toml", "--label", "digit", "--shape", "1,8,8", "--mask", "none", "--take", "2")
    assert attack(*words, model="wide-net", rows="rows.csv") == 0
    found = scores(place / "tried")
    assert found["model"]["values"] == 64 * 20 + 20 + 63
    assert set(found["trials"][0]["scores"][0]) == {"ssim"}


def test_rows_of_a_table_are_scored_by_cells(place: Path) -> None:
    arrays = np.load("rows.npz")
    np.savez(place / "flat.npz", features=arrays["features"].reshape(6, 64)[:, :8], labels=arrays["labels"])
    assert attack("--mask", "none", "--take", "1", rows="flat.npz") == 0
    found = scores(place / "tried")["trials"][0]["scores"][0]["cells"]
    assert 0.0 <= found["floor"] < 0.5
    assert found["ceiling"] == 1.0
    assert "<img" not in (place / "tried" / "page.html").read_text(encoding="utf-8")


def test_texts_are_read_off_an_embedding(place: Path) -> None:
    texts = np.array([[1, 2, 3, 4], [3, 4, 5, 5], [1, 3, 4, 49]])
    np.savez(place / "texts.npz", features=texts, labels=np.array([0, 1, 1]))
    masks = ("--mask", "none", "--mask", "p=0.1,map", "--mask", "layers=words.weight", "--mask", "p=1,random")
    assert attack("--tokens", "--take", "0,2", *masks, model="net.py:texts", rows="texts.npz") == 0
    trials = scores(place / "tried")["trials"]
    assert [trial["scores"][0]["tokens"]["value"] for trial in trials[:3]] == [1.0, 1.0, 0.0]
    assert trials[4]["scores"][0]["rare"] == {"value": 1.0, "floor": 4 / 50, "ceiling": 1.0}
    assert trials[3]["scores"] == [{}]
    assert trials[4]["labels_read"] == 1.0
    assert "rare tokens read" in (place / "tried" / "page.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_weights_of_a_file_are_attacked(place: Path) -> None:
    torch.manual_seed(9)
    first, last = torch.nn.Linear(64, 12), torch.nn.Linear(12, 3)
    module = torch.nn.Sequential(torch.nn.Flatten(), first, torch.nn.Sigmoid(), last)
    torch.save(module.state_dict(), place / "weights.pt")
    objectives = []
    for number, words in enumerate((("--weights", "weights.pt"), ())):
        assert attack("--mask", "none", "--take", "1", *words, out=f"tried{number}") == 0
        objectives.append(scores(place / f"tried{number}")["trials"][0]["objective"])
    assert objectives[0] != objectives[1]


class Evil:
    def __reduce__(self) -> Any:
        return (Path("evil").touch, ())


def test_a_weights_file_runs_no_code(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"1.weight": Evil()}, place / "weights.pt")
    assert attack("--weights", "weights.pt") == 2
    assert "none of this module" in capsys.readouterr().err
    assert not (place / "evil").exists()


JOB = """format = 2
name = "pictures"
protocol = "horizontal"
parties = ["a", "b", "c"]
aggregator = "hub"
data = "pictures"
classes = ["0", "1", "2"]
weight_max = 100
[model]
name = "net"
[training]
algorithm = "fedavg"
rounds = 1
standardise = false
[protection]
kind = "lattice"
masked = 0.2
always = ["3.bias"]
[compare]
plain = false
alone = false
"""


@pytest.mark.long
def test_the_mask_of_a_job_is_taken_from_its_run(place: Path) -> None:
    """By folder and by checkpoint: a fifth of all 819 values, the last layer's biases among them."""
    site = 'format = 1\n[policy]\nmin_masked = 0.2\n[common_models.net]\nfunction = "net:build"\n'
    for number, name in enumerate("abc"):
        rows = np.random.default_rng(number).random((30, 64))
        np.savez(place / f"{name}.npz", features=rows, labels=np.arange(30) % 3)
        site += f'[party.{name}.data.pictures]\nsource = "npz"\npath = "{name}.npz"\n'
    (place / "site.toml").write_text(site)
    (place / "job.toml").write_text(JOB)
    assert main(["run", "job.toml", "--runs", "runs", "--json"]) == 0
    (run,) = (place / "runs").iterdir()
    masks = ("--mask", str(run), "--mask", str(run / "checkpoint.npz"))
    assert attack("--take", "1", "--weights", str(run / "model.safetensors"), *masks) == 0
    assert [mask["masked"] for mask in scores(place / "tried")["masks"]] == [164, 164]
    found = load_saved_mask(run, {"1.weight": (12, 64), "1.bias": (12,), "3.weight": (3, 12), "3.bias": (3,)})
    assert found.chosen("3.bias").all()
    assert not found.chosen("1.weight").all()


REFUSED = {
    "no gradient": ({"model": "net.py:frozen"}, (), "no gradient to attack"),
    "other rows": ({"model": "net.py:other_rows"}, (), "takes no such rows"),
    "no module": ({"model": "net.py:text"}, (), "returns no module"),
    "no function": ({"model": "net.py:built"}, (), "did you mean 'build'"),
    "no file of code": ({"model": "nets.py:build"}, (), "is not there"),
    "no form": ({"model": "net"}, (), "FILE.py:FUNCTION"),
    "few classes": ({"model": "net.py:narrow"}, (), "labels do not fit the module"),
    "no slopes by rows": ({"model": "net.py:rounded"}, (), "without gradients by its rows"),
    "no second derivative": ({"model": "net.py:once"}, (), "cannot be derived once more"),
    "no rows": ({"rows": "none.npz"}, (), "is not there"),
    "other ending": ({"rows": "net.py"}, (), "an ending that says nothing"),
    "share of nothing": ({}, ("--mask", "p=0,random"), "p above 0 and at most 1"),
    "share beyond all": ({}, ("--mask", "p=1.5,map"), "p above 0 and at most 1"),
    "share of no number": ({}, ("--mask", "p=nan,map"), "p above 0 and at most 1"),
    "no rule": ({}, ("--mask", "p=0.1"), "no rule after p"),
    "other rule": ({}, ("--mask", "p=0.1,best"), "unknown rule 'best'"),
    "no layer": ({}, ("--mask", "layers=conv*"), "no parameter matches"),
    "no mask file": ({}, ("--mask", "gone.mask"), "no such file"),
    "no mask at all": ({}, ("--mask", "net.py"), "net.py holds no mask"),
    "half a mask": ({}, ("--mask", "half.mask"), "half.mask holds no mask"),
    "mask of another model": ({}, ("--mask", "other.mask"), "mask is of other tensors"),
    "folder of no run": ({}, ("--mask", "gone"), "gone/checkpoint.npz cannot be read"),
    "no checkpoint": ({}, ("--mask", "rows.npz"), "is damaged"),
    "run of another model": ({}, ("--mask", "other.npz"), "none, or one of another shape, for 1.weight"),
    "run without a mask": ({}, ("--mask", "whole.npz"), "holds no mask"),
    "mask of fewer tensors": ({}, ("--mask", "part.npz"), "one over 816"),
    "mask of no bytes": ({}, ("--mask", "floats.npz"), "is of other tensors"),
    "mask beyond its values": ({}, ("--mask", "beyond.npz"), "bits beyond its last value"),
    "row out of range": ({}, ("--take", "6"), "row numbers from 0 to 5"),
    "half a batch": ({}, ("--take", "1,2,3", "--batch-rows", "2"), "multiple of --batch-rows 2"),
    "other shape": ({}, ("--shape", "3,8,8"), "--shape does not fit"),
    "tokens of no embedding": ({"rows": "texts.npz"}, ("--tokens",), "takes no such rows"),
    "tokens of pictures": ({}, ("--tokens",), "no texts are in"),
    "outside the box": ({}, ("--box", "0,0.5"), "rows leave their box"),
    "steps without a rate": ({}, ("--local-steps", "2"), "belong together"),
}


def save_run(path: Path, mask: Any = None, values: float = 819.0, **shapes: tuple[int, ...]) -> None:
    """A checkpoint of the net's tensors, or with others, and such a mask."""
    own = {"1.weight": (12, 64), "1.bias": (12,), "3.weight": (3, 12), "3.bias": (3,)}
    tensors = {name: np.zeros(shape) for name, shape in {**own, **shapes}.items()}
    codec_state = {} if mask is None else {"mask": mask, "mask_values": values}
    save_checkpoint(path, Checkpoint(b"j" * 32, 1, tensors, codec_state=codec_state))


def save_refused_runs(place: Path) -> None:
    (place / "gone").mkdir()
    bits = np.zeros(103, dtype=np.uint8)
    save_run(place / "whole.npz")
    save_run(place / "other.npz", bits, **{"1.weight": (64, 12)})
    save_run(place / "part.npz", bits, 816.0)
    save_run(place / "floats.npz", bits.astype(float))
    bits[-1] = 0x80
    save_run(place / "beyond.npz", bits)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_ends_with_2_and_writes_nothing(
    case: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, words, message = REFUSED[case]
    np.savez(place / "texts.npz", features=np.ones((6, 64), dtype=int), labels=np.zeros(6, dtype=int))
    other = to_bytes(Mask.everything({"1.weight": 5}))
    (place / "other.mask").write_bytes(other)
    (place / "half.mask").write_bytes(other[: len(other) // 2])
    save_refused_runs(place)
    before = sorted(place.iterdir())
    assert attack(*words, **changes) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "defect" not in told
    assert "site file" not in told
    assert sorted(path for path in place.iterdir() if path.name != "__pycache__") == before


@pytest.mark.parametrize("labels", [[0, 1, 2, 0, 1, 3.5], [0, 1, -1, 0, 1, 2], [0, 1]], ids=["half", "negative", "few"])
def test_labels_that_are_no_class_numbers_are_refused(labels: list[float], place: Path) -> None:
    np.savez(place / "rows.npz", features=np.zeros((6, 1, 8, 8)), labels=np.array(labels))
    assert attack() == 2
    assert not (place / "tried").exists()


def test_an_existing_folder_is_left_alone(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "tried").mkdir()
    assert attack() == 2
    assert "already" in capsys.readouterr().err
    assert not list((place / "tried").iterdir())


@pytest.mark.long_cases("2")
@pytest.mark.parametrize("finished", [0, 2])
def test_an_interrupt_keeps_what_is_finished_and_nothing_else(
    finished: int, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hekat.cli.attack import run_trials

    honest, calls = run_trials.attack_rows, []

    def interrupted(*arguments: Any, **options: Any) -> Any:
        if len(calls) == finished:
            raise KeyboardInterrupt
        calls.append(1)
        return honest(*arguments, **options)

    monkeypatch.setattr(run_trials, "attack_rows", interrupted)
    assert attack("--mask", "none", "--mask", "p=0.5,random") == 130
    if not finished:
        assert not (place / "tried").exists()
        return
    assert not scores(place / "tried")["complete"]
    assert len(scores(place / "tried")["trials"]) == 2
    assert "interrupted" in (place / "tried" / "page.html").read_text(encoding="utf-8")
    assert "2 trials" in capsys.readouterr().err
