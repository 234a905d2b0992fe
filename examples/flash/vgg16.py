"""VGG-16 (Simonyan and Zisserman 2015) on images of 32 x 32: `python vgg16.py`, takes about 8 GB.

Three parties' models lie in one memory here. Tensors are named as in torchvision. `--data FOLDER` takes images of your
own, such as CIFAR-10's as files: a folder for each class.
"""

from functools import partial

import torch
from torch import nn

POOL = 0
CHANNELS = (64, 64, POOL, 128, 128, POOL, 256, 256, 256, POOL, 512, 512, 512, POOL, 512, 512, 512, POOL)


class Vgg16(nn.Module):
    """Thirteen convolutions and three dense layers: 138,357,544 parameters for 1000 classes."""

    def __init__(self, class_count=1000):
        super().__init__()
        layers, inputs = [], 3
        for channels in CHANNELS:
            if channels == POOL:
                layers.append(nn.MaxPool2d(2))
            else:
                convolution = nn.Conv2d(inputs, channels, 3, padding=1)
                nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")
                layers += [convolution, nn.ReLU(inplace=True)]
                inputs = channels
        self.features, self.avgpool = nn.Sequential(*layers), nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(
            nn.Linear(inputs * 49, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(),
            nn.Linear(4096, class_count),
        )

    def forward(self, images):
        return self.classifier(self.avgpool(self.features(images)).flatten(1))


if __name__ == "__main__":
    from federated_training import train
    from images import load_images

    load_rows = partial(load_images, size=32, channels=3)
    train(Vgg16, load_rows, rounds=1, steps=4, make_optimiser=partial(torch.optim.SGD, lr=0.01))
