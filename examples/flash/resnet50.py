"""ResNet-50 (He et al. 2016) on images of 32 x 32: `python resnet50.py`, takes about 2 GB.

Tensors are named as in torchvision, so its published weights can be loaded. `--data FOLDER` takes images of your own,
such as CIFAR-10's as files: a folder for each class.
"""

from functools import partial

import torch
from torch import nn


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolutions beside a shortcut."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != 4 * width:
            convolution = nn.Conv2d(inputs, 4 * width, 1, stride, bias=False)
            self.downsample = nn.Sequential(convolution, nn.BatchNorm2d(4 * width))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.relu(self.bn3(self.conv3(x)) + shortcut)


class ResNet50(nn.Module):
    """Four stages of 3, 4, 6 and 3 blocks: 25,557,032 parameters for 1000 classes."""

    def __init__(self, class_count=1000):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, stride=2, padding=1)
        inputs = 64
        for number, (count, width) in enumerate(zip((3, 4, 6, 3), (64, 128, 256, 512), strict=True), 1):
            blocks = [Bottleneck(inputs, width, stride=1 if number == 1 else 2)]
            blocks += [Bottleneck(4 * width, width, stride=1) for _ in range(count - 1)]
            setattr(self, f"layer{number}", nn.Sequential(*blocks))
            inputs = 4 * width
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, class_count)

    def forward(self, images):
        x = self.maxpool(self.relu(self.bn1(self.conv1(images))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


if __name__ == "__main__":
    from federated_training import train
    from images import load_images

    load_rows = partial(load_images, size=32, channels=3)
    train(ResNet50, load_rows, rounds=1, steps=4, make_optimiser=partial(torch.optim.SGD, lr=0.01))
