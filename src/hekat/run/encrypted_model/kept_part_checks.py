"""What a part of an encrypted model must be to predict with: a file made to do harm is refused in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.job.section import control_character
from hekat.protocol.encrypted_model.arithmetic.fixed_point import check_room
from hekat.protocol.encrypted_model.set_up.moments import Moments
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.transcript import DIGEST_BYTES
from hekat.run.model_file_checks import are_parameters, check_names


def check_texts(texts: Sequence[object]) -> None:
    """Raise ValueError unless all are texts that a terminal shows as they are."""
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("names that are no texts")
    if any(control_character(str(text)) for text in texts):
        raise ValueError("names with control characters")


def check_settings(described: dict[str, Any]) -> None:
    """Raise ValueError for what settings cannot be read from; they check their own values."""
    check_names("hosts", described["hosts"])
    if described["classes"] is not None:
        check_names("classes", described["classes"])
    if type(described["allow_two_parties"]) is not bool:
        raise ValueError("leave of two hosts that is neither true nor false")
    check_texts([described[name] for name in ("arbiter", "aggregator", "owner", "task", "protection")])


def check_facts(columns: object, moments: Moments, settings: EncryptedModelSettings) -> None:
    """Raise ValueError for columns without a mean and a spread each."""
    check_names("columns", columns)
    assert isinstance(columns, list)
    count = len(columns) + (settings.task == "linear")
    if not columns:
        raise ValueError("no columns")
    if type(moments.row_count) is not int or moments.row_count < 1:
        raise ValueError("a number of rows that is none")
    for values in (moments.means, moments.spreads):
        if values.shape != (count,) or not are_parameters(values):
            raise ValueError("a standardiser of other columns, or no numbers")
    if (moments.spreads <= 0).any():
        raise ValueError("a spread that is none")


def check_share(
    share: npt.NDArray[Any], transcript: npt.NDArray[Any], rounds_done: object, settings: EncryptedModelSettings
) -> None:
    """Raise ValueError for anything but a share at the end of the training."""
    training = settings.training
    if type(rounds_done) is not int or rounds_done != training.rounds:
        raise ValueError("a share of another round than the last")
    if share.dtype != np.uint64 or share.ndim != 3 or share.shape[1:] != (settings.target_count, 2):
        raise ValueError("a share of another kind or shape")
    vectors = 2 if training.uses_velocity else 1
    if len(share) % vectors or len(share) < 2 * vectors:
        raise ValueError("a share of another kind or shape")
    check_room(len(share), settings.target_count, training.rounds)
    if transcript.dtype != np.uint8 or transcript.shape != (DIGEST_BYTES,):
        raise ValueError("a transcript that is none")
