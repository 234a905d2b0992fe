"""What tests of a device ask of it: a secret that must not stay behind, a copy by a kernel, work of another thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

SECRET = np.arange(1, 1025, dtype=np.uint32)


def in_a_thread(function, *arguments):
    """What `function` returns, in a thread that ends."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *arguments).result()


def copy(device, array):
    """A copy made by a kernel, for the calling thread."""
    out = device.empty(array.shape, array.dtype)
    device.run_groups("source/copy", (), 1, 4, out, array, array.nbytes)
    return out
