"""The GPU benchmark: it runs whole over the emulation, checks what it times, counts work, and refuses without a GPU."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hekat.engine.cpu import CpuEngine
from hekat.engine.cuda import availability
from hekat.errors import EngineError, HekatError

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.mark.long
def test_a_dry_run_measures_every_section_and_keeps_nothing() -> None:
    before = {path: path.stat().st_mtime_ns for path in RESULTS.iterdir()}
    command = [sys.executable, str(BENCHMARKS / "bench_cuda.py"), "--device", "emulated"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=BENCHMARKS.parent)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    for operation in (
        "mod_mul", "mod_mul, 1 threads of 16 limbs", "encrypt djn, w=4, plain look-ups", "encrypt crt, w=6, table",
        "textbook randomiser", "lattice encrypt", "decrypt", "mod_inv", "gradient to ciphertext bytes",
        "matrix multiplication", "values encrypted", "store, to the host", "int_divmod",
    ):  # fmt: skip
        assert f"\n{operation}" in run.stdout
    assert {path: path.stat().st_mtime_ns for path in RESULTS.iterdir()} == before


def test_without_a_gpu_it_says_so_and_how_to_get_one(
    load: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(index: int) -> None:
        raise EngineError("no NVIDIA driver is on this machine", cure="install NVIDIA's driver")

    monkeypatch.setattr(availability, "check_device", refuse)
    with pytest.raises(SystemExit) as stopped:
        load("bench_cuda").open_device("cuda:0")
    assert stopped.value.code == 2
    assert "install NVIDIA's driver" in capsys.readouterr().err


def test_a_wrong_result_is_a_row_that_failed_and_the_others_go_on(load: Any) -> None:
    module = load("bench_cuda")
    lab = module.Lab(None, None, load("gpu.clock").WallClock(), module.DRY, float("inf"), lambda lab: None)

    def refuse(result: object) -> None:
        raise AssertionError

    wrong = module.Case("wrong", 1, int, refuse)
    right = module.Case("right", 1, int, lambda result: None)
    lab.run("section", None, [wrong, right])
    assert [("failed" in row, "per_s" in row) for row in lab.rows] == [(True, False), (False, True)]


def test_time_that_is_up_is_said(load: Any) -> None:
    module = load("bench_cuda")
    lab = module.Lab(None, None, None, module.DRY, float("-inf"), lambda lab: None)
    lab.run("section", 2048, [module.Case("never", 1, int, int)])
    assert (lab.rows, lab.left_out) == ([], ["section, 2048 bits"])


def test_fractions_of_the_ceilings(load: Any) -> None:
    module = load("bench_cuda")

    class TwoSeconds:
        def time_once(self, call: Any) -> tuple[float, float]:
            call()
            return 2.0, 4.0

    ceilings = {"wide_multiply_adds": 1000.0, "device_bytes": 400.0}
    lab = module.Lab(None, None, TwoSeconds(), module.DRY, float("inf"), lambda lab: None, ceilings)
    lab.run("section", 2048, [module.Case("mod_mul", 10, int, lambda result: None, 50.0, 8.0)])
    (row,) = lab.rows
    # Five a second: 250 multiply-adds, 40 bytes.
    assert (row["per_s"], row["wall_per_s"], row["of_ceiling"], row["of_bandwidth"]) == (5.0, 2.5, 0.25, 0.1)
    assert row["reached"] is False


def test_work_by_formula(load: Any) -> None:
    work = load("gpu.work")
    ring = work.squared_modulus(2048)
    assert (ring.product, ring.square, ring.factor) == (5 * 64**2, 4 * 64**2, 4 * 64**2)
    assert work.any_modulus(1000).product == 2 * 32**2
    # 128 positions of a table of 8 bits.
    assert ring.fixed_base(1024, 8) == 127 * 4 * 64**2 + 2 * 64**2
    # 16 digits of 4 bits: 15 products after 14 for the small powers, 60 squares.
    assert ring.power(64, 4) == (29 * 5 + 60 * 4) * 64**2


@pytest.mark.parametrize("section", ["scheme", "haflo", "lattice", "encryptions"])
def test_checks_see_what_is_wrong(load: Any, section: str, paillier_keys: Any) -> None:
    """Every case passes its own check; that of no case passes whatever the others make."""
    cases = list(_cases(load, section, CpuEngine(), paillier_keys(512).private))
    assert cases
    results = [case.call() for case in cases]
    for case, own in zip(cases, results, strict=True):
        case.check(own)
        # What is added in place is seen when it is opened; encoding is checked by decoding.
        if not case.name.startswith(("lattice add", "encoding")):
            assert not all(_passes(case, result) for result in results), case.name


def _passes(case: Any, result: Any) -> bool:
    try:
        case.check(result)
    except (AssertionError, AttributeError, HekatError, IndexError, TypeError, ValueError):
        return False
    return True


def _cases(load: Any, section: str, engine: Any, key: Any) -> Any:
    if section == "scheme":
        return load("gpu.scheme").scheme_cases(engine, key, 6)
    if section == "haflo":
        return load("gpu.papers").haflo_cases(engine, key, 20)
    if section == "lattice":
        return load("gpu.lattice").ring_cases(engine, 8192, lambda x: x, lambda x: x)
    bench = load("gpu.operations").Bench(engine, key, lambda limbs: limbs)
    return load("gpu.operations").encryptions(bench, 6, 3, True)
