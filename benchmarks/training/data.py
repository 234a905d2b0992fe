"""Reads MNIST, CIFAR-10, tiny Shakespeare and the credit tables from the files that benchmarks are given a path to."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

CIFAR_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True)
class Split:
    """Training and test rows; inputs float32 or int64, labels int64. `name` says what they are."""

    name: str
    train_inputs: Tensor
    train_labels: Tensor
    test_inputs: Tensor
    test_labels: Tensor


def load_mnist(folder: Path) -> Split:
    """MNIST: 60,000 and 10,000 grey images of shape (1, 28, 28), standardised by its usual mean and spread."""
    path = folder / "images" / "mnist_png_70000.tar.gz"
    split = _load_images("MNIST", path, tuple("0123456789"), "L")
    return _scaled(split, mean=(0.1307,), spread=(0.3081,))


def load_cifar(folder: Path) -> Split:
    """CIFAR-10 from JPEG copies (lossy): 50,000 and 10,000 images of shape (3, 32, 32), standardised by channel."""
    path = folder / "images" / "cifar10_jpeg_60000.tar.gz"
    split = _load_images("CIFAR-10 from JPEG copies, which lose a little", path, CIFAR_CLASSES, "RGB")
    return _scaled(split, mean=(0.4914, 0.4822, 0.4465), spread=(0.247, 0.2435, 0.2616))


def load_shakespeare(folder: Path, length: int = 100, test_share: float = 0.1) -> Split:
    """Tiny Shakespeare as rows of `length` characters, each labelled by the characters that follow; the end tests."""
    text = (folder / "shakespeare" / "input.txt").read_text(encoding="utf-8")
    known = sorted(set(text))
    lookup = {character: number for number, character in enumerate(known)}
    codes = np.fromiter((lookup[character] for character in text), dtype=np.int64, count=len(text))
    row_count = (len(codes) - 1) // length
    inputs = torch.from_numpy(codes[: row_count * length].reshape(row_count, length))
    labels = torch.from_numpy(codes[1 : row_count * length + 1].reshape(row_count, length))
    cut = round(row_count * (1 - test_share))
    name = f"tiny Shakespeare in rows of {length} characters"
    return Split(name, inputs[:cut], labels[:cut], inputs[cut:], labels[cut:])


def character_count(split: Split) -> int:
    """How many characters the text has."""
    return int(max(split.train_inputs.max(), split.test_inputs.max(), split.test_labels.max())) + 1


def share_rows(row_count: int, party_count: int, seed: int) -> list[Tensor]:
    """Row numbers of each party: shuffled, then cut into parts as equal as can be."""
    order = np.random.default_rng(seed).permutation(row_count)
    return [torch.from_numpy(part) for part in np.array_split(order, party_count)]


def _load_images(title: str, path: Path, classes: tuple[str, ...], mode: str) -> Split:
    from PIL import Image

    found: dict[str, list[tuple[str, int, np.ndarray]]] = {"train": [], "test": []}
    for name, data in _files(path):
        part, class_name, file_name = name.split("/")[-3:]
        pixels = np.asarray(Image.open(io.BytesIO(data)).convert(mode), dtype=np.uint8)
        found[part].append((f"{class_name}/{file_name}", classes.index(class_name), pixels))
    parts = []
    for part in ("train", "test"):
        rows = sorted(found[part], key=lambda row: row[0])  # archives keep no order that one could rely on
        pixels = np.stack([row[2] for row in rows])
        images = pixels[:, np.newaxis] if mode == "L" else pixels.transpose(0, 3, 1, 2)
        parts += [torch.from_numpy(np.ascontiguousarray(images)), torch.tensor([row[1] for row in rows])]
    return Split(title, *parts)


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.count("/") >= 2 and member.name.endswith((".png", ".jpg")):
                file = archive.extractfile(member)
                assert file is not None  # a file, as asked above
                yield member.name, file.read()


def _scaled(split: Split, mean: tuple[float, ...], spread: tuple[float, ...]) -> Split:
    shape = (1, len(mean), 1, 1)
    centre, scale = torch.tensor(mean).reshape(shape), torch.tensor(spread).reshape(shape)

    def scaled(images: Tensor) -> Tensor:
        return (images.float() / 255 - centre) / scale

    return replace(split, train_inputs=scaled(split.train_inputs), test_inputs=scaled(split.test_inputs))
