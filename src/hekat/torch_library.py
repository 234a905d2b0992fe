"""Imports PyTorch, an optional extra, when the first model needs it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hekat.errors import missing_extra

# One generator serves the whole process, but the parties of a run train in separate threads.
_GENERATOR = threading.RLock()


def import_torch() -> Any:
    """The module torch. Raises InputError with the cure where it is not installed."""
    try:
        import torch
    except ImportError as error:
        raise missing_extra("PyTorch is not installed", "torch", error) from None
    return torch


def is_module(found: Any) -> bool:
    """Whether something is a torch.nn.Module; PyTorch is not imported for the answer."""
    # Another thread may just be importing torch, whose parts are not there yet: then nothing is a module.
    module = getattr(getattr(sys.modules.get("torch"), "nn", None), "Module", None)
    return module is not None and isinstance(found, module)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """A block in which PyTorch's processor generator draws from `seed`; outside of it the generator is as it was.

    One thread at a time; a block may lie in another. Where nobody has imported PyTorch yet, no generator is seeded.
    """
    with _GENERATOR:
        torch = sys.modules.get("torch")
        if torch is None:
            yield
            return
        before = torch.get_rng_state()
        torch.default_generator.manual_seed(seed)
        try:
            yield
        finally:
            torch.set_rng_state(before)
