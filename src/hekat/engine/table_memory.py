"""The memory for an engine's fixed-base tables: the live tables, the room for new ones, and the windows that fit.

On the host a cap divides into three quarters for live tables, an eighth for scratch and an eighth for results.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from hekat.engine.aligned import empty_aligned
from hekat.engine.limbs import LIMB_BYTES
from hekat.engine.result_memory import ResultMemory
from hekat.errors import EngineError, InputError

MEMORY_VARIABLE = "HEKAT_TABLE_MIB"
DEFAULT_CAP_MIB = 512
MAX_CAP_MIB = 1 << 20
DEFAULT_USES = 1 << 15
"""Powers that a table is expected to serve where its maker does not say."""
MIN_WINDOW_BITS = 2
_MIB = 1 << 20


class TableRoom:
    """Counts the live tables and the room for new ones; a table that nobody keeps does not count.

    `table_bytes` limits all tables together; `variable` is the environment variable that raises the limit.
    """

    def __init__(self, table_bytes: int, variable: str, empty: Callable[[int], Any]) -> None:
        """`empty(words)` makes the memory of a table of so many 64-bit words: an array with `nbytes`."""
        self.table_bytes = table_bytes
        self._variable = variable
        self._empty = empty
        self._lock = threading.Lock()
        self._live: WeakValueDictionary[int, Any] = WeakValueDictionary()

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
    ) -> tuple[int, Any]:
        """A window and an uninitialised flat table for it, which counts for as long as the caller keeps it.

        The window is `window_bits`. Where that is None, it is the window up to `widest_bits` that makes the table and
        `uses` powers with the fewest products, among the windows whose table leaves as much room for other tables. A
        table takes words_for(window) words, and making an entry costs entry_products products of a power. Raises
        InputError where the given window's table, or the smallest one, does not fit.
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
            table = self._empty(words)
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
            cure=f"raise {self._variable}, let go of keys whose tables are in use, or ask for {narrower}",
        )


class TableMemory(TableRoom):
    """The host's memory of one engine: tables start with a cache line.

    `cap_bytes` limits tables, scratch and unused results: `table_bytes` all tables together, `scratch_bytes` one
    operation's scratch where that grows with its input; `results` keeps the rest.
    """

    def __init__(self) -> None:
        """Under the cap of HEKAT_TABLE_MIB, else the default one. Raises EngineError where that is no size."""
        self.cap_bytes = read_cap_mib() * _MIB
        self.scratch_bytes = self.cap_bytes // 8
        self.results = ResultMemory(self.cap_bytes // 8)
        self._source = source_of(MEMORY_VARIABLE)
        table_bytes = self.cap_bytes - self.scratch_bytes - self.results.limit_bytes
        super().__init__(table_bytes, MEMORY_VARIABLE, empty_aligned)

    def __str__(self) -> str:
        return (
            f"{self.cap_bytes // _MIB} MiB at most ({self._source}): "
            f"{self.table_bytes / _MIB:g} for tables, {self.used_bytes / _MIB:.1f} in use; "
            f"{self.scratch_bytes / _MIB:g} for the scratch of an operation; "
            f"{self.results.limit_bytes / _MIB:g} for results to reuse, {self.results.kept_bytes / _MIB:.1f} kept"
        )


def read_cap_mib(variable: str = MEMORY_VARIABLE, default_mib: int = DEFAULT_CAP_MIB) -> int:
    """The cap in MiB from `variable`, or the default. Raises EngineError unless it is a whole number in range."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return default_mib
    # The length first, because int() refuses thousands of digits with an error of its own.
    digits = text if text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_CAP_MIB)) else "0"
    if not 1 <= int(digits) <= MAX_CAP_MIB:
        raise EngineError(
            f"{variable} is no size",
            expected=f"a whole number of MiB from 1 to {MAX_CAP_MIB}",
            got=f"{text!r:.40}",
            cure=f"set {variable}={2 * default_mib}, or unset it for {default_mib}",
        )
    return int(text)


def source_of(variable: str) -> str:
    """Where a cap comes from, in words for users."""
    asked = os.environ.get(variable, "").strip()
    return f"{variable}={asked}" if asked else "the default"


def _count_products(exponent_bits: int, uses: int, entry_products: float, window_bits: int) -> float:
    """Products for a table and `uses` powers from it: one for each position of a power, and the entries' own."""
    return -(-exponent_bits // window_bits) * (entry_products * (1 << window_bits) + uses)


def _choose_window(
    products_for: Callable[[int], float], words_for: Callable[[int], int], widest_bits: int, free_bytes: int
) -> int:
    """The window with the fewest products whose table takes at most half of the free memory, else the smallest table's.

    The narrowest window need not give the smallest table, because an engine may pad positions to a minimum size.
    """
    windows = range(MIN_WINDOW_BITS, max(widest_bits, MIN_WINDOW_BITS) + 1)
    fitting = [window for window in windows if 2 * words_for(window) * LIMB_BYTES <= free_bytes]
    if not fitting:
        return min(windows, key=words_for)
    return min(fitting, key=products_for)


def _mib(byte_count: int) -> str:
    return f"{byte_count / _MIB:.1f} MiB"
