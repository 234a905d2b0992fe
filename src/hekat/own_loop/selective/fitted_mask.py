"""A caller's mask fitted to what a call averages: what it does not name is masked whole, and embeddings have to be."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hekat.errors import InputError, PolicyError
from hekat.first_few import first_few
from hekat.own_loop.selection import Selection
from hekat.privacy.embeddings import embeddings_of
from hekat.privacy.mask import Mask
from hekat.protocol.secure_sum.settings import SumSettings

_MAX_SHOWN = 3
_log = logging.getLogger("hekat.own_loop")


class FittedMasks:
    """Fits masks to calls; the last one is kept, since a loop gives the same one round after round."""

    def __init__(self, settings: SumSettings, party: str, note: Callable[[str], None]) -> None:
        self._settings, self._party, self._note = settings, party, note
        self._last: tuple[Mask, dict[str, int], Mask] | None = None

    def fit(self, mask: Mask, state: Mapping[str, Any], selection: Selection, module: Any) -> Mask:
        """The mask of exactly the averaged tensors; says how many values it leaves in the clear.

        A tensor that it does not name, under any of its names, is chosen whole. `module`: the torch module whose
        embeddings have to be chosen whole, or None. Raises InputError for what is no mask, for another size of a
        tensor, and for a name that the state lacks; PolicyError for embeddings, and under a protection that masks
        whole sums alone.
        """
        self._check(mask, state)
        sizes = {name: held.size for name, held in selection.averaged.items()}
        if self._last is None or self._last[0] is not mask or self._last[1] != sizes:
            fitted = mask if mask.sizes == sizes else self._complete(mask, sizes, selection)
            if clear_count_of(fitted):
                self._say(fitted)
            self._last = (mask, sizes, fitted)
        fitted = self._last[2]
        if module is not None:
            check_embeddings(module, selection, fitted, self._party)
        return fitted

    def _say(self, mask: Mask) -> None:
        text = describe_clear(clear_count_of(mask), mask.value_count)
        self._note(text)
        _log.warning("party %s: %s", self._party, text)

    def _complete(self, mask: Mask, sizes: Mapping[str, int], selection: Selection) -> Mask:
        named = {name: name for name in sizes if name in mask.sizes}
        for further, name in selection.tied.items():
            if further in mask.sizes:
                named.setdefault(name, further)
        whole = Mask.everything({name: size for name, size in sizes.items() if name not in named})
        for name, given in named.items():
            if mask.sizes[given] != sizes[name]:
                self._refuse(
                    f"a mask of the size of tensor {given!r}", f"{sizes[name]:,} values", f"{mask.sizes[given]:,}"
                )
        chosen = {name: mask.chosen(named[name]) if name in named else whole.chosen(name) for name in sizes}
        return Mask.from_arrays(chosen)

    def _check(self, mask: Mask, state: Mapping[str, Any]) -> None:
        if not isinstance(mask, Mask):
            self._refuse("a mask of hekat.privacy", "hekat.privacy.Mask", type(mask).__name__)
        if self._settings.protection != "lattice":
            raise PolicyError(
                f"protection {self._settings.protection!r} cannot mask a part of an update",
                expected="protection 'lattice' for a mask",
                got=f"a mask under {self._settings.protection!r}",
                cure="take protection 'lattice', or leave the mask out",
            )
        unknown = [name for name in mask.sizes if name not in state]
        if unknown:
            names = first_few(unknown, _MAX_SHOWN)
            self._refuse("a mask of tensors of the state", first_few(list(state), _MAX_SHOWN), names)

    def _refuse(self, what: str, expected: str, got: str) -> None:
        raise InputError(
            f"party {self._party}: the mask cannot be used: it has to be {what}",
            expected=expected,
            got=got,
            cure="make the mask of the state that is averaged: Mask.from_arrays({name: booleans of its shape})",
        )


def clear_count_of(mask: Mask | None) -> int:
    """How many values a mask leaves in the clear."""
    return 0 if mask is None else mask.value_count - mask.chosen_count


def describe_clear(clear_count: int, value_count: int) -> str:
    """The caveat of an update that is in the clear in part."""
    counts = f"{clear_count:,} OF {value_count:,} VALUES OF EVERY UPDATE ARE IN THE CLEAR"
    return f"{counts}: the aggregator sees them, party by party"


def check_embeddings(module: Any, selection: Selection, mask: Mask, party: str) -> None:
    """Raise PolicyError where the mask leaves a value of a torch module's embeddings in the clear.

    A row that a party did not train does not change, so a table in the clear lists the tokens of the party's rows.
    """
    exposed = set()
    for name in embeddings_of(module):
        averaged = selection.tied.get(name, name)
        if averaged in selection.averaged and not np.all(mask.chosen(averaged)):
            exposed.add(name)
    if exposed:
        raise PolicyError(
            f"party {party}: an embedding would leave in the clear",
            expected="every embedding masked whole: its rows that change are the tokens of this party's texts",
            got=f"a mask that leaves out values of {first_few(sorted(exposed), _MAX_SHOWN)}",
            cure="choose these tensors whole, or leave them out of the mask: what it does not name is masked whole; "
            "expose_embeddings=True lets them go",
        )
