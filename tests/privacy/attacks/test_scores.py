"""Scores of pictures, cells, labels and tokens: 1 for what is equal, known values, floors and ceilings."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_sample_image

from hekat.errors import InputError
from hekat.privacy.attacks.cell_scores import floor_of_cells_read, share_of_cells_read, share_of_tokens_read
from hekat.privacy.attacks.picture_scores import (
    SCORE_NAMES,
    Picture,
    as_picture,
    floors_and_ceilings,
    score_beside,
    score_picture,
)


@pytest.fixture(autouse=True, scope="module")
def libraries() -> None:
    """Libraries that load where tests need them: every worker collects this file, and one runs it."""
    pytest.importorskip("skimage", reason="needs hekat[attacks]")
    pytest.importorskip("sewar", reason="needs hekat[attacks]")


def picture(side: int, channels: int = 3) -> Picture:
    """A crop of scikit-learn's flower, every tenth pixel."""
    whole = np.asarray(load_sample_image("flower.jpg"), dtype=np.uint8)
    return np.ascontiguousarray(whole[60 : 60 + 10 * side : 10, 160 : 160 + 10 * side : 10, :channels])


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("side", [17, 28, 32])
def test_equal_pictures_score_1(side: int, channels: int) -> None:
    row = picture(side, channels)
    scores = score_picture(row, row)
    assert tuple(scores) == SCORE_NAMES
    assert scores == pytest.approx(dict.fromkeys(SCORE_NAMES, 1.0))


def test_ssim_of_two_flat_pictures_is_its_formula() -> None:
    dark, light = (np.full((16, 16, 1), level, dtype=np.uint8) for level in (100, 120))
    c1 = (0.01 * 255) ** 2
    expected = (2 * 100 * 120 + c1) / (100**2 + 120**2 + c1)
    scores = score_picture(dark, light)
    assert scores["ssim"] == pytest.approx(expected)


def windows(means: tuple[float, float], squares: tuple[float, float], product: float) -> float:
    """sewar's UQI of pictures that are alike in every window of 64 pixels, from means, mean squares, mean product.

    Wang and Bovik (2002) take sums in their formula where sewar puts means, so contrast hardly counts.
    """
    level = means[0] ** 2 + means[1] ** 2
    cross = 64 * product - means[0] * means[1]
    return 4 * cross * means[0] * means[1] / ((64 * sum(squares) - level) * level)


def test_uqi_of_fixed_pairs_is_the_one_of_sewar() -> None:
    dark, light = (np.full((16, 16, 1), level, dtype=np.uint8) for level in (100, 120))
    assert score_picture(dark, light)["uqi"] == pytest.approx(windows((100, 120), (100**2, 120**2), 12_000))
    wide = np.tile(np.array([[60, 140], [140, 60]], dtype=np.uint8), (8, 8))[:, :, None]
    narrow = np.tile(np.array([[90, 110], [110, 90]], dtype=np.uint8), (8, 8))[:, :, None]
    found = score_picture(wide, narrow)["uqi"]
    assert found == pytest.approx(windows((100, 100), (100**2 + 40**2, 100**2 + 10**2), 100**2 + 400))
    assert found > 0.95  # where Wang and Bovik's own formula gives 8 / 17


def test_vif_of_a_fixed_pair_is_the_one_of_sewar() -> None:
    row = picture(32)
    assert score_picture(row, (row // 2).astype(np.uint8))["vif"] == pytest.approx(0.79527, abs=1e-4)
    assert score_picture(row, np.ascontiguousarray(row[::-1]))["vif"] < 0.1


def test_noise_lies_at_the_floor_and_a_jpeg_at_the_ceiling() -> None:
    row = picture(32)
    bounds = floors_and_ceilings(row, seed=1)
    noise = np.random.default_rng(9).integers(0, 256, row.shape, dtype=np.uint8)
    for name, (floor, ceiling) in bounds.items():
        assert floor < ceiling < 1.0
        assert score_picture(row, noise)[name] == pytest.approx(floor, abs=0.15 if name != "mssim" else 0.4)
    assert bounds["ssim"][0] < 0.05
    assert bounds["uqi"][0] > 0.4
    beside = score_beside(row, row, bounds)
    assert (beside["ssim"].floor, beside["ssim"].ceiling) == bounds["ssim"]
    assert beside["ssim"].value == pytest.approx(1.0)


def test_small_and_flat_pictures_have_fewer_scores() -> None:
    assert set(score_picture(picture(8), picture(8))) == {"ssim"}
    flat = np.zeros((28, 28, 1), dtype=np.uint8)
    assert set(floors_and_ceilings(flat)) == {"ssim", "mssim", "uqi"}


def test_pictures_of_other_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="different sizes"):
        score_picture(picture(16), picture(17))


def test_a_row_becomes_a_picture() -> None:
    row = np.array([0.0, 1.0, 0.5, 2.0, -1.0, 0.2])
    assert as_picture(row, (2, 1, 3)).tolist() == [[[0, 255], [255, 0], [128, 51]]]
    assert as_picture(row, (1, 1, 6), (-1.0, 2.0)).ravel().tolist() == [85, 170, 128, 255, 0, 102]


def test_cells_are_read_within_a_twentieth_of_their_width() -> None:
    row = np.array([10.0, 0.5])
    assert share_of_cells_read(row, np.array([14.0, 0.5]), np.array([100.0, 1.0])) == 1.0
    assert share_of_cells_read(row, np.array([16.0, 0.5]), np.array([100.0, 1.0])) == 0.5
    assert 0.05 < floor_of_cells_read(np.full(1000, 0.5), 0.0, 1.0, seed=2) < 0.15


def test_no_rare_tokens_have_no_share() -> None:
    assert share_of_tokens_read([], {3}) is None
    assert share_of_tokens_read([3, 4], {3}) == 0.5
