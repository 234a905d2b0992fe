"""Images and their classes: handwritten digits from scikit-learn, or a folder that has a folder of files a class."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

TEST_ROWS = 100
MOST_OF_A_CLASS = 200


def load_images(folder=None, *, size, channels):
    """Train and test rows: float32 images (rows, channels, size, size) from -1 to 1, and the numbers of classes."""
    pixels, labels = _read_digits() if folder is None else _read_folder(folder, size, channels)
    images = nn.functional.interpolate(torch.from_numpy(pixels), size=(size, size), mode="bilinear")
    images = images.expand(-1, channels, -1, -1)
    order = torch.from_numpy(np.random.default_rng(1).permutation(len(labels)))
    images, labels = images[order], torch.from_numpy(labels)[order]
    return (images[TEST_ROWS:], labels[TEST_ROWS:]), (images[:TEST_ROWS], labels[:TEST_ROWS])


def _read_digits():
    digits = load_digits()
    return (digits.images[:, np.newaxis] / 8 - 1).astype(np.float32), digits.target.astype(np.int64)


def _read_folder(folder, size, channels):
    from PIL import Image  # pip install pillow

    pixels, labels = [], []
    for number, place in enumerate(sorted(path for path in folder.iterdir() if path.is_dir())):
        for path in sorted(place.iterdir())[:MOST_OF_A_CLASS]:
            image = Image.open(path).convert("L" if channels == 1 else "RGB").resize((size, size))
            pixels.append(np.asarray(image, dtype=np.float32).reshape(size, size, channels).transpose(2, 0, 1))
            labels.append(number)
    return np.stack(pixels) / 127.5 - 1, np.array(labels, dtype=np.int64)
