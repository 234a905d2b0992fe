"""A dense network of one hidden layer for images of 28 x 28, FLASH's smallest network: `python mlp.py`.

`--data FOLDER` takes images of your own, such as Fashion-MNIST's as files: a folder for each class.
"""

from functools import partial

import torch
from torch import nn


class Mlp(nn.Sequential):
    """784-128-10: 101,770 parameters."""

    def __init__(self):
        super().__init__(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


if __name__ == "__main__":
    from federated_training import train
    from images import load_images

    train(
        Mlp,
        partial(load_images, size=28, channels=1),
        rounds=5,
        steps=25,
        make_optimiser=partial(torch.optim.SGD, lr=0.01, momentum=0.9),
    )
