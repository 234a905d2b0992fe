"""FLASH's three large networks: names and shapes of what parties average, from the modules of examples/flash."""

from __future__ import annotations

import math
import runpy
from dataclasses import dataclass
from pathlib import Path

Shapes = dict[str, tuple[int, ...]]

EXAMPLES = Path(__file__).parents[2] / "examples" / "flash"


@dataclass(frozen=True)
class FlashNetwork:
    """A network at its published size; `file` in examples/flash has its module `maker`."""

    name: str
    file: str
    maker: str
    parameters: int

    def shapes(self) -> Shapes:
        """By name, the float tensors of its state, running means and variances among them; none is made."""
        import torch

        maker = runpy.run_path(str(EXAMPLES / self.file))[self.maker]
        with torch.device("meta"):
            module = maker()
        assert sum(one.numel() for one in module.parameters()) == self.parameters
        return {name: tuple(one.shape) for name, one in module.state_dict().items() if one.is_floating_point()}


DENSENET169 = FlashNetwork("DenseNet169", "densenet169.py", "DenseNet169", 14_149_480)
RESNET50 = FlashNetwork("ResNet50", "resnet50.py", "ResNet50", 25_557_032)
VGG16 = FlashNetwork("VGG16", "vgg16.py", "Vgg16", 138_357_544)


def value_count(shapes: Shapes) -> int:
    """Values of all tensors."""
    return sum(map(math.prod, shapes.values()))
