"""What is read of updates of a ResNet-50 without any search, at shares masked by map: labels, the last inputs.

The net is Microsoft's ResNet-50 as `transformers` builds it, 25,557,032 values and 1,000 classes, random weights. Each
update is the gradient of one picture. Reading takes the completion of the last layer's gradient, which has rank one.
Run it in benchmarks/: python -m privacy.read_large --data FOLDER, which has images/.
"""

from __future__ import annotations

import argparse
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hekat.privacy import Mask, MaskRules, choose_mask, sensitivity_map
from hekat.privacy.attacks import AttackedModel, LastLayer, VisibleUpdate, read_label
from inversion.subjects import load_pictures
from measuring.record import machine, print_rows, write_results

SHARES = (0.0, 0.1, 0.3, 0.5, 1.0)
MAP_ROWS, READ_ROWS = 16, 10
CLASSES, SEED = 1000, 20261128
DEPTHS, WIDTHS = (3, 4, 6, 3), (256, 512, 1024, 2048)


class ResNet(torch.nn.Module):
    """A ResNet of bottlenecks that gives logits alone."""

    def __init__(self, depths: tuple[int, ...] = DEPTHS, widths: tuple[int, ...] = WIDTHS) -> None:
        super().__init__()
        from transformers import ResNetConfig, ResNetForImageClassification

        torch.manual_seed(SEED)
        sizes = {"depths": list(depths), "hidden_sizes": list(widths), "embedding_size": widths[0] // 4}
        self.net = ResNetForImageClassification(ResNetConfig(num_labels=CLASSES, **sizes))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.net(rows).logits
        return logits


def measure(module: torch.nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> list[dict[str, Any]]:
    """A row for each share: of the first rows' updates the labels that are read, rightly and wrongly, and the largest
    share of the last layer's inputs; the map is of the other rows."""
    model = AttackedModel(module)
    layer = LastLayer.of(model)
    assert layer is not None  # the net ends in one
    others = slice(READ_ROWS, READ_ROWS + MAP_ROWS)
    found = sensitivity_map(module, rows[others], labels[others], row_count=MAP_ROWS, seed=SEED)
    sizes = {name: tensor.numel() for name, tensor in model.parameters.items()}
    ends = {0.0: Mask.nothing(sizes), 1.0: Mask.everything(sizes)}
    masks = {share: ends.get(share) or choose_mask(found, MaskRules(share)) for share in SHARES}
    read: dict[float, list[tuple[bool, bool, float]]] = {share: [] for share in SHARES}
    for place in range(READ_ROWS):
        one = slice(place, place + 1)
        update, label = model.gradient(rows[one], labels[one]), (int(labels[place]),)
        for share, mask in masks.items():
            seen = VisibleUpdate.adaptive(update, mask)
            told = read_label(layer, seen).labels if share < 1 else None
            known = float(layer.factors(seen).known_columns[:-1].mean()) if share < 1 else 0.0
            read[share].append((told == label, told not in (None, label), known))
    return [
        {
            "net": "ResNet-50",
            "values": sum(sizes.values()),
            "masked": share,
            "updates": READ_ROWS,
            "labels_read": sum(right for right, _, _ in some),
            "labels_wrong": sum(wrong for _, wrong, _ in some),
            "inputs_read": round(float(np.mean([known for _, _, known in some])), 4),
        }
        for share, some in read.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with images/; without it crops of two photographs")
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    torch.set_num_threads(1)
    pictures = load_pictures(options.data)
    order = torch.from_numpy(np.random.default_rng(SEED).permutation(len(pictures.rows)))
    # The labels of ten classes stand for ten of a thousand.
    rows = measure(ResNet(), pictures.rows[order], 97 * pictures.labels[order])
    print_rows(rows)
    print(machine())
    if not options.no_write:
        versions = {name: metadata.version(name) for name in ("torch", "transformers")}
        print(write_results("read-large", rows, pictures=pictures.source, versions=versions))


if __name__ == "__main__":
    main()
