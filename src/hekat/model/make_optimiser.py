"""Makes an optimiser by name; errors help with misspelt names and settings."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence

from hekat.errors import InputError
from hekat.model.optimisers import Adagrad, Adam, Momentum, Optimiser, RmsProp, Sgd, Yogi

_Kind = type[Sgd] | type[Momentum] | type[Adam] | type[Yogi] | type[Adagrad] | type[RmsProp]
_KINDS: tuple[_Kind, ...] = (Sgd, Momentum, Adam, Yogi, Adagrad, RmsProp)
_OPTIMISERS = {kind.name: kind for kind in _KINDS}
OPTIMISER_NAMES = tuple(_OPTIMISERS)


def make_optimiser(name: str, **settings: float) -> Optimiser:
    """The optimiser called `name` with `settings`; missing settings keep their defaults. Raises InputError with the
    cure.

    All take learning_rate and decay; momentum also momentum, rmsprop also rho and epsilon, adagrad also epsilon, adam
    and yogi also beta_1, beta_2 and epsilon.
    """
    if name not in _OPTIMISERS:
        raise _unknown("there is no such optimiser", name, OPTIMISER_NAMES)
    kind = _OPTIMISERS[name]
    known = tuple(inspect.signature(kind).parameters)
    for setting, value in settings.items():
        if setting not in known:
            raise _unknown(f"optimiser '{name}' has no such setting", setting, known)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(
                f"optimiser setting {setting} refused", expected="a number", got=type(value).__name__, cure="correct it"
            )
    return kind(**settings)


def _unknown(what: str, got: str, known: Sequence[str]) -> InputError:
    close = difflib.get_close_matches(got, known, n=1, cutoff=0.4)
    return InputError(
        what,
        expected=f"one of {', '.join(known)}",
        got=repr(got),
        cure=f"did you mean {close[0]!r}?" if close else "choose one of these",
    )
