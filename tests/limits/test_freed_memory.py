"""What a test has freed goes back to the system once it is much."""

from __future__ import annotations

import ctypes
import sys

import pytest
from tests.limits import freed_memory
from tests.limits.freed_memory import FreedMemory, resident_bytes

BLOCK_BYTES, COUNT = 64 << 10, 2000


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="glibc alone")
def test_blocks_that_glibc_keeps_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    watched = FreedMemory()
    monkeypatch.setattr(freed_memory, "GROWTH_BYTES", BLOCK_BYTES * COUNT // 2)
    blocks = [libc.malloc(BLOCK_BYTES) for _ in range(COUNT)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK_BYTES)
    # The last block stays, and so all below it would.
    for block in blocks[:-1]:
        libc.free(block)
    grown = resident_bytes()
    around = watched.pytest_runtest_protocol()
    next(around)
    with pytest.raises(StopIteration):
        around.send(None)
    libc.free(blocks[-1])
    assert grown - resident_bytes() > BLOCK_BYTES * COUNT // 2
