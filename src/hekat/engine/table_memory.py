"""An engine's memory under one cap: three quarters for live tables, an eighth for scratch, an eighth for results."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from weakref import WeakValueDictionary

from hekat.engine.aligned import empty_aligned
from hekat.engine.limbs import LIMB_BYTES, LimbArray
from hekat.engine.result_memory import ResultMemory
from hekat.errors import EngineError, InputError

MEMORY_VARIABLE = "HEKAT_TABLE_MIB"
DEFAULT_CAP_MIB = 512
MAX_CAP_MIB = 1 << 20
DEFAULT_USES = 1 << 15
"""Powers that a table is expected to serve where its maker does not say."""
MIN_WINDOW_BITS = 2
_MIB = 1 << 20


class TableMemory:
    """Counts the tables that are alive and the room left to new ones; a table that nobody keeps is no longer counted.

    `cap_bytes` are for tables, scratch and unused results: `table_bytes` for all tables together, `scratch_bytes` for
    what one operation's scratch may grow to with the size of its input, the rest for the memory that `results` keeps.
    """

    def __init__(self) -> None:
        """Under the cap of HEKAT_TABLE_MIB, else the default one. Raises EngineError where that is no size."""
        self.cap_bytes = read_cap_mib() * _MIB
        self.scratch_bytes = self.cap_bytes // 8
        self.results = ResultMemory(self.cap_bytes // 8)
        self.table_bytes = self.cap_bytes - self.scratch_bytes - self.results.limit_bytes
        asked = os.environ.get(MEMORY_VARIABLE, "").strip()
        self._source = f"{MEMORY_VARIABLE}={asked}" if asked else "the default"
        self._lock = threading.Lock()
        self._live: WeakValueDictionary[int, LimbArray] = WeakValueDictionary()

    @property
    def used_bytes(self) -> int:
        """Bytes of all live tables."""
        with self._lock:
            return self._sum_live()

    def allocate(
        self,
        exponent_bits: int,
        words_for: Callable[[int], int],
        *,
        window_bits: int | None,
        widest_bits: int,
        uses: int | None,
        entry_products: float = 1.0,
    ) -> tuple[int, LimbArray]:
        """A window and an uninitialised table for it, flat and at the start of a cache line, counted from now on.

        The window is `window_bits`, or the one up to `widest_bits` that makes the table and `uses` powers with the
        fewest products among those that leave as much for other tables; a table takes words_for(window) words, and an
        entry as long to make as entry_products products of a power. Raises InputError where the given one, or the
        smallest table there is, does not fit.
        """
        with self._lock:
            free_bytes = self.table_bytes - self._sum_live()
            window = window_bits
            if window is None:
                products = partial(_count_products, exponent_bits, uses or DEFAULT_USES, entry_products)
                window = _choose_window(products, words_for, widest_bits, free_bytes)
            words = words_for(window)
            if words * LIMB_BYTES > free_bytes:
                raise self._refuse(words * LIMB_BYTES, free_bytes, window_bits)
            table = empty_aligned(words)
            self._live[id(table)] = table
            return window, table

    def _sum_live(self) -> int:
        return sum(table.nbytes for table in self._live.values())

    def _refuse(self, wanted_bytes: int, free_bytes: int, window_bits: int | None) -> InputError:
        used_bytes = self.table_bytes - free_bytes
        narrower = "fewer exponent_bits" if window_bits is None else "fewer window_bits or exponent_bits"
        return InputError(
            "fixed-base table does not fit into the memory for tables",
            expected=f"at most {_mib(free_bytes)}: {_mib(self.table_bytes)} less {_mib(used_bytes)} of tables in use",
            got=_mib(wanted_bytes),
            cure=f"raise {MEMORY_VARIABLE}, let go of keys whose tables are in use, or ask for {narrower}",
        )

    def __str__(self) -> str:
        return (
            f"{self.cap_bytes // _MIB} MiB at most ({self._source}): "
            f"{self.table_bytes / _MIB:g} for tables, {self.used_bytes / _MIB:.1f} in use; "
            f"{self.scratch_bytes / _MIB:g} for the scratch of an operation; "
            f"{self.results.limit_bytes / _MIB:g} for results to reuse, {self.results.kept_bytes / _MIB:.1f} kept"
        )


def read_cap_mib() -> int:
    """The cap in MiB: HEKAT_TABLE_MIB, or the default. Raises EngineError for what is no whole number in range."""
    text = os.environ.get(MEMORY_VARIABLE, "").strip()
    if not text:
        return DEFAULT_CAP_MIB
    # The length first: int refuses thousands of digits with an error of its own.
    digits = text if text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_CAP_MIB)) else "0"
    if not 1 <= int(digits) <= MAX_CAP_MIB:
        raise EngineError(
            f"{MEMORY_VARIABLE} is no size",
            expected=f"a whole number of MiB from 1 to {MAX_CAP_MIB}",
            got=f"{text!r:.40}",
            cure=f"set {MEMORY_VARIABLE}={2 * DEFAULT_CAP_MIB}, or unset it for {DEFAULT_CAP_MIB}",
        )
    return int(text)


def _count_products(exponent_bits: int, uses: int, entry_products: float, window_bits: int) -> float:
    """Products that a table and `uses` powers from it take: one for each position of a power, and the entries'."""
    return -(-exponent_bits // window_bits) * (entry_products * (1 << window_bits) + uses)


def _choose_window(
    products_for: Callable[[int], float], words_for: Callable[[int], int], widest_bits: int, free_bytes: int
) -> int:
    """The window of fewest products that takes at most half of what is free; that of the smallest table if none does.

    The smallest table is not always that of the narrowest window: an engine may pad positions to a least size.
    """
    windows = range(MIN_WINDOW_BITS, max(widest_bits, MIN_WINDOW_BITS) + 1)
    fitting = [window for window in windows if 2 * words_for(window) * LIMB_BYTES <= free_bytes]
    if not fitting:
        return min(windows, key=words_for)
    return min(fitting, key=products_for)


def _mib(byte_count: int) -> str:
    return f"{byte_count / _MIB:.1f} MiB"
