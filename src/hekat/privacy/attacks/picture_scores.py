"""How near a found picture comes to the row's: SSIM, MSSIM, VIF, UQI, each beside its floor and its ceiling."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError, missing_extra

Picture = npt.NDArray[np.uint8]
"""Shape (height, width, channels)."""

FLOOR_PICTURES = 10
JPEG_QUALITY = 75
# What a score needs of the shorter side, in pixels: its window, for VIF the window of the coarsest scale that counts.
_LEAST_SIDES = {"ssim": 7, "mssim": 11, "vif": 17, "uqi": 9}
SCORE_NAMES = tuple(_LEAST_SIDES)


@dataclass(frozen=True)
class Score:
    """`value` of a guess; `floor`, the mean over random pictures; `ceiling`, the score of the row saved as a JPEG."""

    value: float
    floor: float
    ceiling: float


def as_picture(row: npt.NDArray[Any], shape: tuple[int, int, int], box: tuple[float, float] = (0.0, 1.0)) -> Picture:
    """A row as a picture of bytes, values beyond the box cut off.

    Args:
        row: As many values as `shape` says, channels first.
        shape: (channels, height, width).
        box: The values of black and of full light.

    Returns:
        Shape (height, width, channels).
    """
    low, high = box
    light = (np.asarray(row, dtype=np.float64).reshape(shape) - low) / (high - low)
    return np.rint(255 * np.clip(light, 0.0, 1.0)).astype(np.uint8).transpose(1, 2, 0)


def score_picture(row: Picture, found: Picture) -> dict[str, float]:
    """Each score that pictures of this size have, 1 for equal ones.

    Args:
        row: The picture that was to be guessed.
        found: The guess, of the same shape.

    Returns:
        "ssim" of scikit-image, and "mssim", "vif" (pixel domain) and "uqi" of sewar, the library of FedML-HE; those
        whose window is wider than the picture are left out, and so is VIF of a row that is one colour. MSSIM takes
        five scales where the sides allow: two at 32 pixels.

    Raises:
        InputError: The pictures differ in shape, or the extra 'attacks' is not installed.
    """
    if row.shape != found.shape or row.ndim != 3:
        raise InputError(
            "pictures of different sizes cannot be compared",
            expected=f"shape {row.shape}, (height, width, channels)",
            got=f"shape {found.shape}",
            cure="give both the same shape",
        )
    measures = _measures()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # sewar says where it takes fewer scales
        scores = {
            name: float(measures[name](row, found))
            for name, least in _LEAST_SIDES.items()
            if min(row.shape[:2]) >= least
        }
    return {name: score for name, score in scores.items() if np.isfinite(score)}


def floors_and_ceilings(row: Picture, *, seed: int = 0) -> dict[str, tuple[float, float]]:
    """What each score of `row` is worth: its mean over random pictures, and its value for the row as a JPEG.

    Args:
        row: The picture that is to be guessed.
        seed: Of the `FLOOR_PICTURES` random pictures, uniform in every pixel.

    Returns:
        (floor, ceiling) by score.

    Raises:
        InputError: As `score_picture`.
    """
    dice = np.random.default_rng(seed)
    noise = [dice.integers(0, 256, size=row.shape, dtype=np.uint8) for _ in range(FLOOR_PICTURES)]
    floors = [score_picture(row, picture) for picture in noise]
    ceiling = score_picture(row, _as_jpeg(row))
    names = [name for name in ceiling if all(name in one for one in floors)]
    return {name: (float(np.mean([one[name] for one in floors])), ceiling[name]) for name in names}


def score_beside(row: Picture, found: Picture, bounds: Mapping[str, tuple[float, float]]) -> dict[str, Score]:
    """The scores of a guess beside floor and ceiling, as `floors_and_ceilings` found them for the row."""
    return {name: Score(value, *bounds[name]) for name, value in score_picture(row, found).items() if name in bounds}


def _measures() -> dict[str, Callable[[Picture, Picture], Any]]:
    try:
        from sewar.full_ref import msssim, uqi, vifp
        from skimage.metrics import structural_similarity
    except ImportError as error:
        raise missing_extra("scores of pictures need scikit-image and sewar", "attacks", error) from None
    return {
        "ssim": lambda row, found: structural_similarity(row, found, win_size=7, channel_axis=2, data_range=255),
        "mssim": msssim,
        "vif": vifp,
        "uqi": uqi,
    }


def _as_jpeg(picture: Picture) -> Picture:
    """The picture saved as a JPEG and read again; channels one by one where they are not three."""
    from PIL import Image

    def save(pixels: Picture) -> Picture:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, format="JPEG", quality=JPEG_QUALITY)
        return np.asarray(Image.open(file), dtype=np.uint8)

    if picture.shape[2] == 3:
        return save(picture)
    return np.stack([save(np.ascontiguousarray(picture[:, :, place])) for place in range(picture.shape[2])], axis=2)
