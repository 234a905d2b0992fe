"""DenseNet-169 (Huang et al. 2017) on images of 32 x 32: `python densenet169.py`, takes about 1.5 GB.

Tensors are named as in torchvision. `--data FOLDER` takes images of your own, such as CIFAR-10's as files: a folder for
each class.
"""

from functools import partial

import torch
from torch import nn

GROWTH = 32


class DenseLayer(nn.Module):
    """GROWTH new channels from all that are there, beside these."""

    def __init__(self, inputs):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, 4 * GROWTH, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * GROWTH), nn.Conv2d(4 * GROWTH, GROWTH, 3, padding=1, bias=False)

    def forward(self, x):
        new = self.conv1(nn.functional.relu(self.norm1(x)))
        return torch.cat([x, self.conv2(nn.functional.relu(self.norm2(new)))], 1)


class Transition(nn.Sequential):
    """Half the channels, half the width and height."""

    def __init__(self, inputs):
        super().__init__()
        self.add_module("norm", nn.BatchNorm2d(inputs))
        self.add_module("relu", nn.ReLU(inplace=True))
        self.add_module("conv", nn.Conv2d(inputs, inputs // 2, 1, bias=False))
        self.add_module("pool", nn.AvgPool2d(2))


class DenseNet169(nn.Module):
    """Blocks of 6, 12, 32 and 32 layers: 14,149,480 parameters for 1000 classes."""

    def __init__(self, class_count=1000):
        super().__init__()
        self.features = nn.Sequential()
        self.features.add_module("conv0", nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False))
        self.features.add_module("norm0", nn.BatchNorm2d(64))
        self.features.add_module("relu0", nn.ReLU(inplace=True))
        self.features.add_module("pool0", nn.MaxPool2d(3, stride=2, padding=1))
        channels, counts = 64, (6, 12, 32, 32)
        for number, count in enumerate(counts, 1):
            block = nn.Sequential()
            for layer in range(count):
                block.add_module(f"denselayer{layer + 1}", DenseLayer(channels + layer * GROWTH))
            self.features.add_module(f"denseblock{number}", block)
            channels += count * GROWTH
            if number < len(counts):
                self.features.add_module(f"transition{number}", Transition(channels))
                channels //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, class_count)

    def forward(self, images):
        x = nn.functional.relu(self.features(images))
        return self.classifier(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


if __name__ == "__main__":
    from federated_training import train
    from images import load_images

    load_rows = partial(load_images, size=32, channels=3)
    train(DenseNet169, load_rows, rounds=1, steps=4, make_optimiser=partial(torch.optim.SGD, lr=0.01))
