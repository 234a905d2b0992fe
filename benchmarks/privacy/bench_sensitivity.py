"""Sensitivity maps of two networks: CPU seconds of each mode, rows until the largest tenth settled, bytes of tensors.

Of `exact` over 1,000 classes only bytes are measured: it goes back a thousand times for each row. Bytes are the most
that PyTorch's allocator holds at a time during a map of two rows, in sizes of the model: the sums, gradients and
activations, without the model itself and without buffers of libraries. Seconds are of one thread.
Run it in benchmarks/: python -m privacy.bench_sensitivity.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from typing import Any

import torch

from hekat.privacy import sensitivity_map
from hekat.privacy.attacks import leaky_lenet
from measuring.record import machine, print_rows, write_results

ROWS, SEED = 256, 20261128
FEW = 2


class Block(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Two convolutions with normalisations, and what came in added.

    Source: He et al. 2016, Deep Residual Learning for Image Recognition, figure 2.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            torch.nn.BatchNorm2d(outputs),
            torch.nn.ReLU(inplace=True),
            torch.nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            torch.nn.BatchNorm2d(outputs),
        )
        same = inputs == outputs and stride == 1
        shortcut = (torch.nn.Conv2d(inputs, outputs, 1, stride, bias=False), torch.nn.BatchNorm2d(outputs))
        self.shortcut = torch.nn.Identity() if same else torch.nn.Sequential(*shortcut)

    def forward(self, rows: Any) -> Any:
        return torch.relu(self.body(rows) + self.shortcut(rows))


def resnet18(class_count: int) -> Any:
    """ResNet-18 as it is published for 224 x 224 pictures."""
    torch.manual_seed(SEED)
    widths = (64, 64, 128, 256, 512)
    blocks = [
        block
        for inputs, outputs in itertools.pairwise(widths)
        for block in (Block(inputs, outputs, 1 if inputs == outputs else 2), Block(outputs, outputs, 1))
    ]
    stem = torch.nn.Conv2d(3, 64, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(64), torch.nn.ReLU(inplace=True)
    head = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(512, class_count)
    return torch.nn.Sequential(*stem, torch.nn.MaxPool2d(3, 2, 1), *blocks, *head)


# Name, module, side of a picture, classes, modes.
NETS: tuple[tuple[str, Callable[[int], Any], int, int, tuple[str, ...]], ...] = (
    ("LeNet", lambda classes: leaky_lenet(class_count=classes), 32, 100, ("label", "random", "exact")),
    ("ResNet-18", resnet18, 32, 100, ("label", "random", "exact")),
    ("ResNet-18", resnet18, 224, 1000, ("label", "random", "exact")),
)
UNTIMED = (224, "exact")
"""Side and mode of the map whose seconds are not measured."""


def held_bytes(module: Any, rows: Any, labels: Any, mode: Any) -> int:
    """The most bytes that PyTorch's allocator held during a map of these rows, beyond what it held before."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        sensitivity_map(module, rows, labels, mode=mode)
    events = [one for one in profile.profiler.kineto_results.events() if one.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda one: one.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


def measure(
    name: str, make: Callable[[int], Any], side: int, classes: int, mode: Any, row_count: int
) -> dict[str, Any]:
    """One row of results."""
    module = make(classes)
    draws = torch.Generator().manual_seed(SEED)
    rows = torch.rand((row_count, 3, side, side), generator=draws)
    labels = torch.randint(0, classes, (row_count,), generator=draws)
    size = 4 * sum(one.numel() for one in module.parameters())
    held = held_bytes(module, rows[:FEW], labels[:FEW], mode)
    what = {"net": name, "parameters": size // 4, "side": side, "classes": classes, "mode": mode}
    what["models_held"] = round(held / size, 2)
    if (side, mode) == UNTIMED:
        return {**what, "rows": FEW, "overlap": None, "cpu_s": None}
    start = time.process_time()
    found = sensitivity_map(module, rows, labels, mode=mode, row_count=row_count, seed=SEED)
    seconds = round(time.process_time() - start, 2)
    overlap = None if found.overlap is None else round(found.overlap, 3)
    return {**what, "rows": found.row_count, "overlap": overlap, "cpu_s": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--nets", nargs="*", default=["LeNet", "ResNet-18"])
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [
        measure(name, make, side, classes, mode, options.rows)
        for name, make, side, classes, modes in NETS
        if name in options.nets
        for mode in modes
    ]
    print_rows(rows)
    print(machine())
    if not options.no_write:
        print(write_results("sensitivity", rows))


if __name__ == "__main__":
    main()
