"""Engine selection: names, HEKAT_ENGINE, one instance, and no silent fallback."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import ClassVar

import pytest

from hekat.engine import select
from hekat.engine.cuda import availability
from hekat.engine.reference import ReferenceEngine
from hekat.engine.select import available_engines, get_engine
from hekat.engine.spread.engine import SpreadEngine
from hekat.errors import EngineError


@pytest.fixture
def without_native_core(monkeypatch):
    """The process as it is on a machine where the native core was never built."""
    select._instance.cache_clear()
    monkeypatch.setitem(sys.modules, "hekat.engine.cpu", None)
    yield
    select._instance.cache_clear()


def test_a_named_engine_is_one_instance():
    assert isinstance(get_engine("reference"), ReferenceEngine)
    assert get_engine("reference") is get_engine("reference")


def test_the_variable_chooses(monkeypatch):
    monkeypatch.setenv("HEKAT_ENGINE", "reference")
    assert get_engine().name == "reference"


def test_a_name_goes_before_the_variable(monkeypatch):
    monkeypatch.setenv("HEKAT_ENGINE", "nonsense")
    assert get_engine("reference").name == "reference"


@pytest.mark.parametrize("value", [None, ""])
def test_the_default_is_cpu(monkeypatch, value):
    monkeypatch.delenv("HEKAT_ENGINE", raising=False)
    if value is not None:
        monkeypatch.setenv("HEKAT_ENGINE", value)
    assert get_engine().name == "cpu"


@pytest.mark.parametrize(
    ("typed", "cure"),
    [
        ("refrence", "'reference'"),
        ("CPU", "'cpu'"),
        ("cpuu", "'cpu'"),
        ("quantum", "use 'cpu'"),
        ("gpu", "'cuda:0'"),
        ("gpu:1", "'cuda:0'"),
        ("CUDA:0", "'cuda:0'"),
        ("cuda0", "'cuda:0'"),
        ("cuda:-1", "'cuda:0'"),
        ("cuda:01", "'cuda:0'"),
        ("cuda:0 ", "'cuda:0'"),
    ],
)
def test_an_unknown_name_is_answered_with_the_right_one(monkeypatch, typed, cure):
    monkeypatch.setenv("HEKAT_ENGINE", typed)
    with pytest.raises(EngineError, match=f"HEKAT_ENGINE names no engine.*cure: .*{cure}"):
        get_engine()
    with pytest.raises(EngineError, match=f"no such engine.*cure: .*{cure}"):
        get_engine(typed)


def test_a_missing_native_core_is_an_error_with_its_cure(without_native_core, monkeypatch):
    monkeypatch.delenv("HEKAT_ENGINE", raising=False)
    with pytest.raises(EngineError, match=r"native core cannot be loaded.*make build"):
        get_engine()
    states = available_engines()
    assert states["reference"] == "ready"
    assert "native core cannot be loaded" in states["cpu"]


@pytest.fixture
def without_gpu(monkeypatch):
    """The process as it is on a machine without an NVIDIA driver."""

    def missing(library):
        raise OSError(f"{library}: cannot open shared object file")

    monkeypatch.setattr(availability.find_driver, "__defaults__", (missing,))
    monkeypatch.setattr(availability.check_device, "__defaults__", (missing,))
    select._instance.cache_clear()
    yield
    select._instance.cache_clear()


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:7"])
def test_a_gpu_that_is_not_there_is_an_error_with_its_cure(without_gpu, monkeypatch, name):
    monkeypatch.setenv("HEKAT_ENGINE", name)
    for asked in (name, None):
        with pytest.raises(EngineError, match=r"no NVIDIA driver is on this machine.*or stay on engine 'cpu'"):
            get_engine(asked)


def test_engines_are_listed_without_a_gpu(without_gpu):
    assert available_engines() == {
        "cpu": "ready",
        "reference": "ready",
        "cuda:0": "no NVIDIA driver is on this machine",
    }


class FakeDevice:
    """As much of a device as an engine asks for when it is made."""

    memory_bytes = 1 << 30
    made: ClassVar[list[int]] = []

    def __init__(self, index: int) -> None:
        self.name = f"cuda:{index}"
        self.made.append(index)

    def when_short(self, make_room) -> None:
        pass


@pytest.fixture
def two_gpus(monkeypatch):
    """The process as it is on a machine with two GPUs, as far as choosing goes."""
    driver = availability.Driver((13, 0), 2)
    monkeypatch.setattr(availability, "find_driver", lambda load=None: driver)
    monkeypatch.setattr(availability, "find_spec", lambda name: object())
    module = ModuleType("hekat.engine.cuda.cupy_device")
    module.CupyDevice = FakeDevice
    monkeypatch.setitem(sys.modules, "hekat.engine.cuda.cupy_device", module)
    monkeypatch.setattr(FakeDevice, "made", [])
    select._instance.cache_clear()
    select._device.cache_clear()
    yield
    select._instance.cache_clear()
    select._device.cache_clear()


def test_each_gpu_is_one_engine_for_each_tenancy_on_one_device(two_gpus, monkeypatch):
    engine = get_engine("cuda:0")
    assert engine.name == "cuda:0"
    assert get_engine("cuda") is engine
    assert get_engine("cuda:1").name == "cuda:1"
    monkeypatch.setenv("HEKAT_SINGLE_TENANT", "1")
    alone = get_engine("cuda:0")
    assert alone is not engine
    assert (alone.single_tenant, engine.single_tenant) == (True, False)
    assert FakeDevice.made == [0, 1]
    assert available_engines() == dict.fromkeys(("cpu", "reference", "cuda:0", "cuda:1"), "ready")
    with pytest.raises(EngineError, match="no GPU cuda:2 on this machine"):
        get_engine("cuda:2")


def test_a_cupy_that_cannot_be_imported_is_an_error_with_its_cure(two_gpus, monkeypatch):
    monkeypatch.setitem(sys.modules, "hekat.engine.cuda.cupy_device", None)
    with pytest.raises(EngineError, match=r"CuPy cannot be imported.*pip install --force-reinstall 'hekat\[cuda13\]'"):
        get_engine("cuda:0")


def test_threads_that_ask_at_once_get_one_engine(two_gpus):
    with ThreadPoolExecutor(8) as threads:
        engines = set(map(id, threads.map(lambda _: get_engine("cuda:0"), range(32))))
    assert len(engines) == 1
    assert FakeDevice.made == [0]


def test_engines_joined_by_a_plus_are_one_engine_over_them(two_gpus, monkeypatch):
    both = get_engine("cpu+cuda:0")
    assert isinstance(both, SpreadEngine)
    assert both.name == "cpu+cuda:0"
    assert get_engine("cuda+cpu") is get_engine("cuda:0+cpu") is both
    assert [load.name for load in both.loads()] == ["cpu", "cuda:0"]
    assert both._pool.engines == (get_engine("cpu"), get_engine("cuda:0"))
    monkeypatch.setenv("HEKAT_ENGINE", "cuda:1+cuda:0")
    assert get_engine().name == "cuda:0+cuda:1"
    assert get_engine("cuda:all") is get_engine()
    assert get_engine("cuda:all+cpu").name == "cpu+cuda:0+cuda:1"
    monkeypatch.setenv("HEKAT_SINGLE_TENANT", "1")
    alone = get_engine("cpu+cuda:0")
    assert alone is not both
    assert (alone.single_tenant, both.single_tenant) == (True, False)
    assert FakeDevice.made == [0, 1]


def test_all_gpus_of_one_are_that_one(two_gpus, monkeypatch):
    monkeypatch.setattr(availability, "find_driver", lambda load=None: availability.Driver((13, 0), 1))
    assert get_engine("cuda:all") is get_engine("cuda:0")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cpu+cuda:0+cuda", r"named twice; .*got cpu\+cuda:0\+cuda; cure: leave out one cuda:0"),
        ("cuda:all+cuda:1", "named twice.*leave out one cuda:1"),
        ("cpu+cpu", "named twice"),
        ("cpu+reference", "'reference' computes alone"),
        ("cpu+", "no such engine.*got ''"),
        ("cpu+cdua:0", "no such engine.*got 'cdua:0'; cure: did you mean 'cuda:0'"),
        ("cpu+cuda:2", "no GPU cuda:2 on this machine"),
    ],
)
def test_engines_that_cannot_be_joined_are_refused(two_gpus, name, words):
    with pytest.raises(EngineError, match=words):
        get_engine(name)


def test_no_gpu_is_no_reason_to_go_on_with_the_cpu_alone(without_gpu):
    for name in ("cpu+cuda:0", "cuda:all", "cpu+cuda:all"):
        with pytest.raises(EngineError, match=r"no NVIDIA driver is on this machine.*or stay on engine 'cpu'"):
            get_engine(name)


def test_a_malformed_schedule_is_answered_when_the_engine_is_chosen(two_gpus, monkeypatch):
    monkeypatch.setenv("HEKAT_SCHEDULE", "fair")
    with pytest.raises(EngineError, match="HEKAT_SCHEDULE names no way"):
        get_engine("cuda:0+cuda:1")
