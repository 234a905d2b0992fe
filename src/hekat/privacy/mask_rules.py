"""Which values of an update are masked: how many, which layers always or never, and in what groups."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Literal

from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.select_names import select_names

Groups = Literal["values", "rows"]
GROUPS: tuple[Groups, ...] = ("values", "rows")
_MOST_SHOWN = 5
_PLACES = Decimal("0.0001")


@dataclass(frozen=True)
class MaskRules:
    """The rules by which a mask is chosen from a map; a job states them.

    Attributes:
        fraction: p, which part of all values is masked, in (0, 1]: ceil(p d) of d.
        always: shell patterns for names of tensors that are masked whole, before any other value.
        never: patterns for tensors that are not masked at all.
        groups: `values` ranks each value by itself; `rows` ranks whole rows of outputs of a layer, each with its bias,
            or whole kernels of a convolution, by the sum over the group, and may so mask some values more.
        expose_embeddings: leave tables of embeddings to the map and the patterns. Without it they are masked whole: the
            rows of such a table that changed are the words that a party's texts hold.

    Examples:
        >>> from hekat.privacy import MaskRules
        >>> MaskRules(0.1, always=("head.*",)).count_of(88_648)
        8865
    """

    fraction: float
    always: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    groups: Groups = "values"
    expose_embeddings: bool = False

    def __post_init__(self) -> None:
        check_fraction(self.fraction)
        if self.groups not in GROUPS:
            close = difflib.get_close_matches(str(self.groups), GROUPS, n=1, cutoff=0.4)
            raise InputError(
                "there is no such grouping of values",
                expected=" or ".join(GROUPS),
                got=repr(self.groups),
                cure=f"did you mean {close[0]!r}?" if close else "choose one of these",
            )

    def count_of(self, value_count: int) -> int:
        """How many of so many values are masked.

        Args:
            value_count: d, from 1.

        Returns:
            ceil(p d), p as it is written: 0.7 of 10 are 7.

        Examples:
            >>> MaskRules(0.7).count_of(10)
            7
        """
        return count_of(self.fraction, value_count)

    def whole_tensors(self, sizes: Mapping[str, int], embeddings: Sequence[str]) -> tuple[set[str], set[str]]:
        """The tensors that are masked whole, and the ones that are not masked.

        Args:
            sizes: the values of each tensor.
            embeddings: the names of tensors that are tables of embeddings.

        Returns:
            The two sets of names.

        Raises:
            InputError: a pattern that names no tensor, a tensor that is to be masked always and never, an embedding
                that is never masked without `expose_embeddings`, more values masked always than in all, or so many
                never masked that the others are too few.

        Examples:
            >>> MaskRules(0.5, never=("*.bias",)).whole_tensors({"a.weight": 6, "a.bias": 2}, embeddings=())
            (set(), {'a.bias'})
        """
        names = sorted(sizes)
        never = set(select_names(names, self.never)) if self.never else set()
        tables = set() if self.expose_embeddings else set(embeddings) & sizes.keys()
        if tables & never:
            raise InputError(
                "a table of embeddings would go in the clear",
                expected="embeddings that are masked whole: the rows that changed are the words of a party's texts",
                got=f"never = {list(self.never)}, which names {first_few(sorted(tables & never), _MOST_SHOWN)}",
                cure="take it out of never, or say expose_embeddings = true if all parties accept that",
            )
        always = tables | (set(select_names(names, self.always)) if self.always else set())
        if always & never:
            raise InputError(
                "a tensor is to be masked always and never",
                expected="patterns that have no tensor in common",
                got=first_few(sorted(always & never), _MOST_SHOWN),
                cure="correct always or never",
            )
        self._check_room(sizes, always, never, tables)
        return always, never

    def _check_room(self, sizes: Mapping[str, int], always: set[str], never: set[str], tables: set[str]) -> None:
        total = sum(sizes.values())
        count = self.count_of(total)
        whole = sum(sizes[name] for name in always)
        if whole > count:
            least = Decimal(whole) / Decimal(total)
            named = f", tables of embeddings among them ({first_few(sorted(tables), _MOST_SHOWN)})" if tables else ""
            raise InputError(
                "more values are to be masked always than in all",
                expected=f"at most {count:,} of {total:,} values, a part of {self.fraction}",
                got=f"{whole:,} in {first_few(sorted(always), _MOST_SHOWN)}{named}",
                cure=f"mask a part of {least.quantize(_PLACES, ROUND_CEILING)} or more, or name fewer tensors",
            )
        free = total - sum(sizes[name] for name in never)
        if free < count:
            raise InputError(
                "too few values are left to mask",
                expected=f"{count:,} of {total:,} values, a part of {self.fraction}",
                got=f"{free:,} outside of never",
                cure="name fewer tensors in never, or mask a smaller part",
            )


def count_of(fraction: float, value_count: int) -> int:
    """ceil(fraction * value_count), the fraction as it is written in decimals."""
    return int((Decimal(repr(float(fraction))) * value_count).to_integral_value(ROUND_CEILING))


def check_fraction(fraction: float) -> None:
    """Raise InputError unless `fraction` is a number in (0, 1]."""
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0.0 < fraction <= 1.0:
        raise InputError(
            "a part of all values refused",
            expected="a number above 0, up to 1",
            got=repr(fraction),
            cure="0.1 for a tenth of all values, 1.0 for all",
        )
