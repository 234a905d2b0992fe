"""What the engine's server says to a site with a task's model: sites that it tells different things find out."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np
from nvflare.apis.dxo import DXO
from nvflare.apis.shareable import Shareable
from nvflare.app_common.app_constant import AppConstants

from hekat.errors import InputError

_HEADERS = (
    AppConstants.START_ROUND,
    AppConstants.CURRENT_ROUND,
    AppConstants.NUM_ROUNDS,
    AppConstants.VALIDATE_TYPE,
    AppConstants.SUBMIT_MODEL_NAME,
)


def terms_of(shareable: Shareable, dxo: DXO) -> bytes:
    """All that the Client API's FLModel has beside the model: notes in `meta`, and the round's numbers.

    Raises InputError for notes that are no numbers, texts, arrays, lists or tables of these.
    """
    headers = [[name, plain(shareable.get_header(name))] for name in _HEADERS]
    packed: bytes = msgpack.packb([dxo.data_kind, headers, plain(dxo.meta)])
    return packed


def plain(value: Any) -> Any:
    """What MessagePack has one form for; a number's kind is kept."""
    if isinstance(value, dict):
        # By the packed name: an app may tell the names 1, 1.0 and "1" apart, so their kind counts as a value's does.
        entries = ([msgpack.packb(plain(name)), plain(one)] for name, one in value.items())
        return ["table", sorted(entries, key=lambda entry: entry[0])]
    if isinstance(value, (list, tuple)):
        return ["list", [plain(one) for one in value]]
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        return ["array", value.dtype.str, list(value.shape), value.tobytes()]
    if value is None or isinstance(value, (bool, float, str, bytes)):
        return value
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 64:
        return value
    raise InputError(
        "the server's task holds a note that sites cannot compare",
        expected="numbers, texts, arrays, lists and tables of these in FLModel.meta",
        got=type(value).__name__,
        cure="leave it out of what the server sends",
    )
