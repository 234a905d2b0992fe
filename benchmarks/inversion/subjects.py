"""What is attacked: pictures of 32 x 32, the LeNet of DLG, and the masks of the tables."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hekat.privacy import Mask, MaskRules, SensitivityMap, choose_mask, sensitivity_map
from hekat.privacy.attacks import AttackedModel, leaky_lenet

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SHAPE = (3, 32, 32)
MAP_ROWS = 16
_EACH = 10
# Places of the pictures that are attacked: the first ship and the first cat.
ATTACKED = (8 * _EACH, 3 * _EACH)


@dataclass(frozen=True)
class Pictures:
    """`rows` float32 from 0 to 1, shape (rows, 3, 32, 32); `names` of the attacked ones by place; `source` in words."""

    rows: torch.Tensor
    labels: torch.Tensor
    names: dict[int, str]
    source: str


def load_pictures(data: Path | None) -> Pictures:
    """Ten CIFAR-10 test pictures of each class; without data crops of scikit-learn's two photographs."""
    if data is None:
        return _sample_crops()
    found: dict[tuple[int, str], Any] = {}
    with tarfile.open(data / "images" / "cifar10_jpeg_60000.tar.gz") as archive:
        for member in archive:
            part = Path(member.name)
            if member.isfile() and part.suffix == ".jpg" and part.parts[-3] == "test" and int(part.stem) < _EACH:
                file = archive.extractfile(member)
                assert file is not None  # a file, as asked above
                found[CLASSES.index(part.parts[-2]), part.stem] = _pixels(file.read())
    order = sorted(found)
    rows = torch.from_numpy(np.stack([found[key] for key in order]))
    labels = torch.tensor([label for label, _ in order])
    names = dict(zip(ATTACKED, ("ship", "cat"), strict=True))
    return Pictures(rows, labels, names, "CIFAR-10 test pictures from JPEG copies, which lose a little")


def _pixels(data: bytes) -> Any:
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=np.float32) / 255
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _sample_crops() -> Pictures:
    from sklearn.datasets import load_sample_image

    crops = []
    for name in ("flower.jpg", "china.jpg"):
        whole = torch.from_numpy(load_sample_image(name).copy()).permute(2, 0, 1).float() / 255
        for number in range(50):
            top, left = 7 * (number // 10), 30 * (number % 10)
            crop = whole[None, :, top : top + 320, left : left + 320]
            crops.append(torch.nn.functional.interpolate(crop, size=SHAPE[1:], mode="area")[0])
    labels = torch.arange(100) % len(CLASSES)
    return Pictures(torch.stack(crops), labels, {0: "flower", 50: "temple"}, "crops of scikit-learn's photographs")


def make_model(seed: int = 0) -> AttackedModel:
    """DLG's LeNet of four convolutions and 100 classes, 88,648 parameters."""
    return AttackedModel(leaky_lenet(seed=seed))


def map_of(model: AttackedModel, pictures: Pictures, seed: int = 0) -> SensitivityMap:
    """The `exact` map of 16 other pictures."""
    others = [place for place in range(len(pictures.rows)) if place not in pictures.names]
    chosen = np.random.default_rng(seed).permutation(others)[:MAP_ROWS]
    rows, labels = pictures.rows[chosen], pictures.labels[chosen]
    return sensitivity_map(model.module, rows, labels, mode="exact", row_count=MAP_ROWS, seed=seed)


def masks_of(model: AttackedModel, found: SensitivityMap) -> dict[str, Mask]:
    """The masks of the table, by name."""
    sizes = {name: tensor.numel() for name, tensor in model.parameters.items()}
    names = list(sizes)
    masks = {"none": Mask.nothing(sizes)}
    masks |= {f"{p:g} by map": choose_mask(found, MaskRules(p)) for p in (0.1, 0.3, 0.5, 0.7)}
    masks |= {f"{p:g} at random": random_mask(sizes, p) for p in (0.1, 0.3, 0.425, 0.9)}
    ends = {*names[:2], *names[-2:]}
    masks["first and last layer"] = _whole(sizes, ends)
    masks["all convolutions"] = _whole(sizes, set(names[:-2]))
    masks["all"] = Mask.everything(sizes)
    return masks


def random_mask(sizes: dict[str, int], share: float, seed: int = 0) -> Mask:
    """A share of the values at random."""
    flags = np.zeros(sum(sizes.values()), dtype=np.bool_)
    flags[np.random.default_rng(seed).permutation(len(flags))[: MaskRules(share).count_of(len(flags))]] = True
    return Mask(sizes, np.packbits(flags, bitorder="little"))


def _whole(sizes: dict[str, int], names: set[str]) -> Mask:
    return Mask.from_arrays({name: np.full(size, name in names) for name, size in sizes.items()})
