"""Without a GPU, a driver, a new driver or CuPy: what is told, and that nothing else is the worse for it."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from hekat.engine.cuda import availability
from hekat.engine.cuda.availability import check_device, check_runtime, find_driver
from hekat.engine.cuda.sensors import read_sensors
from hekat.errors import EngineError


class FakeDriver:
    """Functions of libcuda.so.1."""

    def __init__(self, version: int = 13000, devices: int = 2, init: int = 0) -> None:
        self.version, self.devices, self.init = version, devices, init

    def __call__(self, library: str) -> FakeDriver:
        assert library == "libcuda.so.1"
        return self

    def cuDriverGetVersion(self, out) -> int:
        out._obj.value = self.version
        return 0

    def cuInit(self, flags: int) -> int:
        assert flags == 0
        return self.init

    def cuDeviceGetCount(self, out) -> int:
        out._obj.value = self.devices
        return 0


class FakeNvml:
    """Functions of libnvidia-ml.so.1; `broken` names those that fail."""

    def __init__(self, *broken: str) -> None:
        self.broken = broken
        self.open = 0

    def __call__(self, library: str) -> FakeNvml:
        assert library == "libnvidia-ml.so.1"
        return self

    def __getattr__(self, name: str):
        def call(*arguments) -> int:
            if name in self.broken:
                return 3
            getattr(self, f"do_{name}")(*arguments)
            return 0

        return call

    def do_nvmlInit_v2(self) -> None:
        self.open += 1

    def do_nvmlShutdown(self) -> None:
        self.open -= 1

    def do_nvmlSystemGetDriverVersion(self, out, size) -> None:
        assert size.value == len(out)
        out.value = b"580.65.06"

    def do_nvmlDeviceGetHandleByPciBusId_v2(self, bus_id, out) -> None:
        assert bus_id == b"0000:17:00.0"
        out._obj.value = 77

    def do_nvmlDeviceGetTemperature(self, device, sensor, out) -> None:
        assert (device.value, sensor.value) == (77, 0)
        out._obj.value = 41

    def do_nvmlDeviceGetUtilizationRates(self, device, out) -> None:
        assert device.value == 77
        out._obj.gpu, out._obj.memory = 93, 12


def missing(library: str):
    raise OSError(f"{library}: cannot open shared object file")


@pytest.fixture
def cupy_is_there(monkeypatch):
    monkeypatch.setattr(availability, "find_spec", lambda name: object())


def test_a_driver_is_found():
    driver = find_driver(FakeDriver(12080, devices=3))
    assert driver.cuda_version == (12, 8)
    assert driver.device_count == 3
    assert driver.extra == "cuda12"
    assert find_driver(FakeDriver(13020)).extra == "cuda13"
    # A driver runs what older CUDAs made.
    assert find_driver(FakeDriver(14000)).extra == "cuda13"


@pytest.mark.parametrize(
    ("load", "told"),
    [
        (missing, r"no NVIDIA driver.*expected libcuda\.so\.1.*cure: install NVIDIA's driver"),
        (FakeDriver(11080), r"driver is too old.*expected one for CUDA 12.*got one for CUDA 11\.8.*newer driver"),
        (FakeDriver(init=803), "does not start.*error 803.*nvidia-smi"),
    ],
)
def test_a_machine_without_a_driver_to_use(load, told):
    with pytest.raises(EngineError, match=told):
        check_device(0, load)


def test_a_gpu_that_is_not_there(monkeypatch, cupy_is_there):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert check_device(1, FakeDriver(devices=2)).device_count == 2
    with pytest.raises(EngineError, match=r"no GPU cuda:2.*expected cuda:0 to cuda:1.*got 2 GPUs; cure"):
        check_device(2, FakeDriver(devices=2))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(EngineError, match=r"shows no GPU.*got 0 GPUs \(CUDA_VISIBLE_DEVICES=\)"):
        check_device(0, FakeDriver(init=100))


@pytest.mark.parametrize(("version", "extra"), [(12080, "cuda12"), (13000, "cuda13")])
def test_without_cupy_the_right_extra_is_named(monkeypatch, version, extra):
    monkeypatch.setattr(availability, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=rf"CuPy is not installed.*pip install 'hekat\[{extra}\]'"):
        check_device(0, FakeDriver(version))


def test_a_cupy_that_is_newer_than_the_driver_is_refused():
    driver = find_driver(FakeDriver(12080))
    check_runtime(12090, driver)
    with pytest.raises(EngineError, match=r"driver for CUDA 13.*uninstall cupy-cuda13x.*hekat\[cuda12\]"):
        check_runtime(13000, driver)


def test_sensors_are_read():
    nvml = FakeNvml()
    told = read_sensors("0000:17:00.0", nvml)
    assert told["driver"] == "580.65.06"
    assert told["temperature"] == "41 °C"
    assert told["load"].startswith("93 % of the time busy, 12 %")
    assert nvml.open == 0


@pytest.mark.parametrize(
    ("broken", "unknown"),
    [
        ("nvmlInit_v2", {"driver", "temperature", "load"}),
        ("nvmlDeviceGetHandleByPciBusId_v2", {"temperature", "load"}),
        ("nvmlDeviceGetTemperature", {"temperature"}),
        ("nvmlDeviceGetUtilizationRates", {"load"}),
        ("nvmlSystemGetDriverVersion", {"driver"}),
    ],
)
def test_sensors_that_tell_nothing_are_no_failure(broken, unknown):
    told = read_sensors("0000:17:00.0", FakeNvml(broken))
    assert {name for name, value in told.items() if value.startswith("not known: ")} == unknown
    assert set(read_sensors("0000:17:00.0", missing).values()) == {
        "not known: libnvidia-ml.so.1: cannot open shared object file"
    }


@pytest.mark.long
def test_importing_hekat_looks_for_no_gpu():
    """Neither CuPy nor the driver is touched before somebody asks for a GPU."""
    program = (
        "import sys, ctypes\n"
        "def refuse(*_, **__): raise AssertionError('the driver was asked')\n"
        "import hekat\n"
        "import hekat.engine.select, hekat.cli.main\n"
        "hekat.cli.main.build_parser()\n"
        "ctypes.CDLL = refuse\n"
        "assert hekat.engine.select.get_engine('reference').name == 'reference'\n"
        "wrong = [name for name in sys.modules if name.split('.')[0] == 'cupy' or 'cupy_device' in name]\n"
        "assert not wrong, wrong\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_the_structure_that_nvml_fills_is_two_words():
    from hekat.engine.cuda.sensors import _Utilization

    assert ctypes.sizeof(_Utilization) == 8
