"""What `CupyDevice` says where memory is short, what kernels are given, and what of the fake holds of CuPy itself."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from tests.engine.cuda.cupy_device.device_work import SECRET
from tests.engine.cuda.cupy_device.fake_cupy import CUDARuntimeError, FakeGpus, ndarray

from hekat.engine.cuda import availability
from hekat.engine.cuda.device import DeviceMemoryError
from hekat.errors import EngineError

MODULE = "hekat.engine.cuda.cupy_device"


def test_a_device_that_is_full_says_what_is_left(gpus, device):
    assert device.memory_bytes == gpus.memory_bytes
    # Whole MiB of nine tenths of the fake GPU's one MiB would be none: one is the least.
    assert gpus.memory_bytes == gpus.pools[0].limit == 1 << 20
    held = device.empty(700 << 10, np.uint8)
    with pytest.raises(DeviceMemoryError) as refusal:
        device.empty((600, 1024), np.uint8)
    assert refusal.value.asked_bytes == 600 << 10
    assert refusal.value.free_bytes == (1 << 20) - held.nbytes
    del held
    assert device.empty((600, 1024), np.uint8).nbytes == 600 << 10


def test_memory_kept_for_other_threads_is_given_back_where_it_is_short(gpus, device):
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: device.empty(700 << 10, np.uint8) and None).result()
        assert device.empty(600 << 10, np.uint8).nbytes == 600 << 10


def test_room_is_asked_for_before_memory_is_refused(device):
    """Of one after the other; what they let go is wiped and lent again."""
    held = {"first": device.empty(500 << 10, np.uint8), "second": device.empty(300 << 10, np.uint8)}
    asked = []

    def let_go(name: str):
        def make_room(short: DeviceMemoryError) -> bool:
            asked.append((name, short.asked_bytes, short.free_bytes))
            return held.pop(name, None) is not None

        return make_room

    device.when_short(let_go("first"))
    device.when_short(let_go("second"))
    array = device.empty(900 << 10, np.uint8)
    assert array.nbytes == 900 << 10
    assert asked == [
        ("first", 900 << 10, 224 << 10),
        ("first", 900 << 10, 724 << 10),
        ("second", 900 << 10, 724 << 10),
    ]
    with pytest.raises(DeviceMemoryError):
        device.empty(900 << 10, np.uint8)
    assert [name for name, *_ in asked[3:]] == ["first", "second"]


def test_the_setting_limits_the_pool(gpus, monkeypatch):
    gpus.memory_bytes = 64 << 20
    assert gpus.open(0)._pool.limit == 57 << 20
    monkeypatch.setenv("HEKAT_CUDA_MIB", "3")
    assert gpus.open(0)._pool.limit == 3 << 20
    assert "hekat takes up to 3 MiB (HEKAT_CUDA_MIB=3)" in gpus.open(0).describe()["memory"]
    for wrong in ("0", "-1", "much", "1.5"):
        monkeypatch.setenv("HEKAT_CUDA_MIB", wrong)
        with pytest.raises(EngineError, match="HEKAT_CUDA_MIB is no size"):
            gpus.open(0)


# --- kernels ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "threads", "blocks"), [(1, 1, 1), (128, 1, 1), (129, 1, 2), (32, 4, 1), (33, 4, 2), (5, 32, 2)]
)
def test_groups_fill_blocks(gpus, device, groups, threads, blocks):
    gpus.kernels["count"] = lambda *words: None
    device.run_groups("source/count", ("-DA=1",), groups, threads, 2**64 - 1)
    assert gpus.launches == [("count", blocks, 128, 0)]
    assert gpus.loaded == [b"source -DA=1 90"]


def test_nothing_is_launched_for_nothing(gpus, device):
    device.run_groups("source/count", (), 0, 4)
    device.run_blocks("source/count", (), 0, 256, 1024)
    assert gpus.launches == gpus.loaded == []


def test_blocks_get_the_shared_memory_they_ask_for(gpus, device):
    gpus.kernels["block"] = lambda *words: None
    device.run_blocks("source/block", (), 3, 256, 48 << 10)
    assert gpus.attributes == []
    device.run_blocks("source/block", (), 3, 256, 100 << 10, 5)
    assert gpus.attributes == [(77, 8, 100 << 10)]
    assert gpus.launches == [("block", 3, 256, 48 << 10), ("block", 3, 256, 100 << 10)]
    assert len(gpus.loaded) == 1


def test_shared_memory_that_another_thread_was_allowed_is_not_taken_back(gpus, device):
    gpus.kernels["block"] = lambda *words: None
    for kibibytes in (129, 65, 129, 49, 130):
        device.run_blocks("source/block", (), 1, 256, kibibytes << 10)
    # One that sets less between what another sets and launches would have its launch refused.
    assert gpus.attributes == [(77, 8, 129 << 10), (77, 8, 130 << 10)]
    device.run_blocks("source/block", ("-DHEKAT_PRIMES=2",), 1, 256, 65 << 10)
    assert gpus.attributes[2:] == [(77, 8, 65 << 10)]


def test_more_shared_memory_than_the_gpu_has_is_refused(gpus, device):
    with pytest.raises(EngineError, match=r"at most 200\.0 KiB") as caught:
        device.run_blocks("source/block", (), 1, 256, 201 << 10)
    assert "engine 'cpu'" in str(caught.value)
    assert gpus.attributes == gpus.launches == []


def test_kernels_take_contiguous_arrays_of_their_device(gpus, device):
    other = gpus.open(1).upload(SECRET)
    array = device.upload(SECRET)
    strided = ndarray((4,), np.uint32, array.data, strides=(8,))
    for wrong in (other, strided):
        with pytest.raises(AssertionError):
            device.run_groups("source/copy", (), 1, 1, wrong)
    assert gpus.launches == []


def test_what_cuda_reports_is_told(gpus, device):
    def fail(*_):
        raise CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")

    gpus.module.cuda.runtime.memcpyAsync = fail
    with pytest.raises(EngineError, match=r"cuda:0 reports an error.*cudaErrorIllegalAddress.*cure"):
        device.upload(SECRET)


def test_a_forked_process_is_told_to_start_anew(gpus, device, monkeypatch):
    def fail(*_):
        raise CUDARuntimeError("cudaErrorInitializationError: initialization error")

    gpus.module.cuda.runtime.memcpyAsync = fail
    own = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    with pytest.raises(EngineError, match=r"forked.*'spawn'"):
        device.upload(SECRET)


def test_the_device_describes_itself(gpus):
    told = gpus.open(1).describe()
    assert told["device"] == "Fake GPU"
    assert told["compute capability"] == "9.0"
    assert told["cuda"] == "driver for 13.0; CuPy 14.0 for 13.0"
    assert told["resident"] == "0.0 MiB in use, 0.0 MiB kept for reuse"
    assert {"temperature", "load", "driver", "kernels"} <= set(told)


def test_a_cupy_that_is_newer_than_the_driver_is_refused(gpus, monkeypatch):
    monkeypatch.setattr(availability, "find_driver", lambda load=None: availability.Driver((12, 8), 2))
    with pytest.raises(EngineError, match=r"too old for the CuPy that is installed.*hekat\[cuda12\]"):
        gpus.open(0)


# --- what of this holds of CuPy itself -------------------------------------------------------------------

needs_cupy = pytest.mark.skipif(find_spec("cupy") is None, reason="needs hekat[cuda13]")


@needs_cupy
def test_the_fake_has_no_names_that_cupy_has_not():
    program = (
        "import cupy, sys\n"
        "for name in sys.argv[1:]:\n"
        "    found = cupy\n"
        "    for part in name.split('.'):\n"
        "        found = getattr(found, part)\n"
    )
    fake = FakeGpus(0).module
    names = [*(name for name in vars(fake) if not name.startswith("__")), "__version__"]
    for name, found in vars(fake.cuda).items():
        names += [f"cuda.{name}.{inner}" for inner in vars(found)] if isinstance(found, SimpleNamespace) else []
        names.append(f"cuda.{name}")
    # In a process of its own: here the name cupy belongs to the fake now and then.
    subprocess.run([sys.executable, "-c", program, *names], check=True, timeout=120)


@needs_cupy
def test_arrays_and_their_views_lead_to_the_owner_of_their_memory():
    program = (
        "import cupy, gc, weakref\n"
        "class Owner: pass\n"
        "owner = Owner()\n"
        "gone = weakref.ref(owner)\n"
        "whole = cupy.cuda.UnownedMemory(1 << 20, 512, owner, 0)\n"
        "array = cupy.ndarray((4, 8), 'uint32', cupy.cuda.MemoryPointer(whole, 0))\n"
        "view = array[1:3].reshape(-1).view('uint64')\n"
        "assert view.data.mem._owner is owner and view.data.ptr == (1 << 20) + 32 and view.data.device_id == 0\n"
        "assert view.flags.c_contiguous and not array.T.flags.c_contiguous and array.device.id == 0\n"
        "del owner, whole, array\n"
        "gc.collect()\n"
        "assert gone() is not None\n"
        "del view\n"
        "gc.collect()\n"
        "assert gone() is None\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
