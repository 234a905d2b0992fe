"""What takes an optional package names the extra that brings it, where the package is not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.model.rows.torch_rows import row_gradients
from hekat.privacy.accounting.library import import_dp_accounting
from hekat.privacy.attacks.picture_scores import score_picture
from hekat.torch_library import import_torch

PICTURE = np.zeros((8, 8, 1), dtype=np.uint8)
USES: dict[str, tuple[str, Callable[[], Any]]] = {
    "torch": ("torch", import_torch),
    "opacus": ("privacy-torch", lambda: row_gradients(None, "net").__enter__()),
    "dp_accounting": ("privacy", import_dp_accounting),
    "sewar.full_ref": ("attacks", lambda: score_picture(PICTURE, PICTURE)),
    "skimage.metrics": ("attacks", lambda: score_picture(PICTURE, PICTURE)),
}


@pytest.mark.parametrize("module", USES)
def test_the_extra_is_named_with_its_cure(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    extra, use = USES[module]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError) as refused:
        use()
    assert refused.value.expected == f"the extra '{extra}'"
    assert refused.value.got == "ModuleNotFoundError"
    assert refused.value.cure == f"pip install 'hekat[{extra}]'"
