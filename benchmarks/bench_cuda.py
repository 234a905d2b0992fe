"""Every operation on one GPU: first what the GPU can do at most, then each operation with its fraction of that.

Results are checked before they are timed. Figures are medians: `per_s` from CUDA events around the operation, with its
data on the GPU; `wall_per_s` by the caller's clock, and both by it where several threads' streams work, as in
encryption as users call it. `of_ceiling` is the multiply-adds of the operation's formula
(gpu/work.py) over those that the GPU did alone in the same run; `of_bandwidth` the bytes that have to be read and
written, against a copy's. The CPU engine does the same on all cores in the same run. Results are written as they
come, so that a run cut short leaves what it measured.

Needs a GPU: exits with 2 where there is none. `--device emulated` shows that the file works, and keeps nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpu.choices import chunk_plans, power_windows, table_windows
from gpu.clock import EventClock, WallClock, median_times
from gpu.lattice import ring_cases
from gpu.operations import Bench, Case, element_wise, encryptions, in_and_out, integers, powers, products
from gpu.papers import FLBOOSTER, HAFLO, gradient_case, haflo_cases, packed_values_case
from gpu.scheme import scheme_cases
from hekat.engine.cpu import CpuEngine
from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.cuda.layout import Layout
from hekat.errors import HekatError
from hekat.scheme.paillier import PrivateKey
from measuring.record import machine, print_rows, write_results

ROOT = Path(__file__).parents[1]
KEY_FILE = ROOT / "tests" / "vectors" / "paillier_keys.json"
KEY_BITS = (2048, 3072, 1024)
DRY_KEY_BITS = (512,)
# On one H200, kernel time, data on the GPU, 2048-bit key: issue "The CUDA engine".
TO_REACH = {
    "mod_mul": 240e6,
    "encrypt djn, w=8, plain look-ups": 1.9e6,
    "encrypt djn, w=16, plain look-ups": 3.8e6,
    "encrypt crt, w=16, plain look-ups": 7e6,
    "textbook randomiser r^n (mod_exp_vartime)": 130e3,
    "decrypt": 500e3,
    "lattice encrypt (mask_values), per value": 25e9,
}
TO_REACH_OF_CEILING = {"mod_mul": 0.6}
TO_REACH_GRADIENT = 1.3
MOST_LAYOUT_LIMBS = 32
COLUMNS = (
    "operation", "key_bits", "items", "per_s", "wall_per_s", "of_ceiling", "of_bandwidth", "to_reach", "cpu_per_s",
    "times_cpu",
)  # fmt: skip


@dataclass(frozen=True)
class Sizes:
    """Items at 2048 bits, enough to fill a large GPU; with other keys as many as take about as long."""

    products: int = 1 << 20
    powers: int = 1 << 18
    calls: int = 1 << 17
    encryptions: int = 1 << 17
    sums: int = 1 << 19
    integers: int = 1 << 19
    layouts: int = 1 << 20
    lattice: int = 1 << 26
    haflo: int = 100_000
    gradient: int = 10_000_000
    repeats: int = 5
    layout_threads: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    cpu_share: int = 64  # the CPU does this part of the items, so that it takes about as long

    def at(self, count: int, bits: int) -> int:
        return max(2, count * 2048**2 // bits**2)


DRY = Sizes(8, 2, 2, 2, 4, 4, 4, 4096, 12, 300, 1, (1, 4), 1)


@dataclass
class Lab:
    """One device, its engine and clock, and the rows measured so far."""

    device: Any
    engine: Any
    clock: Any
    sizes: Sizes
    end_at: float
    keep: Callable[[Lab], None]
    ceilings: dict[str, float] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def put(self, limbs: Any) -> Any:
        return self.device.upload(np.ascontiguousarray(limbs))

    def get(self, array: Any) -> Any:
        return self.device.download(array) if self.device.owns(array) else array

    def run(self, section: str, key_bits: int | None, cases: Iterable[Case], cpu: Iterable[Case] = ()) -> None:
        """Check and time every case; what fails is a row that says so, and the others go on."""
        beside = iter(cpu)
        cases = iter(cases)
        while True:
            if time.monotonic() > self.end_at:
                self.left_out.append(f"{section}, {key_bits} bits")
                break
            row: dict[str, Any] = {"section": section, "key_bits": key_bits}
            try:
                case = next(cases)
                row |= {"operation": case.name, "items": case.items}
                row |= self._measure(case)
                row |= self._targets(case, key_bits, row)
                peer = next(beside, None)
                if peer is not None:
                    peer.check(peer.call())
                    times = median_times(WallClock(), peer.call, max(1, self.sizes.repeats // 2))
                    row["cpu_per_s"] = _round(peer.items / times.wall_s)
                    row["times_cpu"] = _round(row["per_s"] / row["cpu_per_s"])
            except StopIteration:
                break
            # What one operation meets on a GPU is no reason to lose the others' figures.
            except Exception as error:
                row.setdefault("operation", section)
                row["failed"] = f"{type(error).__name__}: {str(error)[:200]}"
                self._add(row)
                # A generator that raised is at its end.
                continue
            self._add(row)

    def _measure(self, case: Case) -> dict[str, Any]:
        case.check(case.call())
        times = median_times(self.clock, case.call, self.sizes.repeats)
        per_s = case.items / (times.wall_s if case.by_wall else times.device_s)
        row: dict[str, Any] = {"per_s": _round(per_s), "wall_per_s": _round(case.items / times.wall_s)}
        if case.multiply_adds and "wide_multiply_adds" in self.ceilings:
            row["multiply_adds"] = case.multiply_adds
            row["of_ceiling"] = round(case.multiply_adds * per_s / self.ceilings["wide_multiply_adds"], 3)
        if case.device_bytes and "device_bytes" in self.ceilings:
            row["of_bandwidth"] = round(case.device_bytes * per_s / self.ceilings["device_bytes"], 3)
        return row

    def _targets(self, case: Case, key_bits: int | None, row: dict[str, Any]) -> dict[str, Any]:
        target = TO_REACH.get(case.name) if key_bits in (2048, None) else None
        if target is None:
            return {}
        fraction = TO_REACH_OF_CEILING.get(case.name)
        reached = row["per_s"] >= target and (fraction is None or row.get("of_ceiling", 0) >= fraction)
        return {"to_reach": target, "to_reach_of_ceiling": fraction, "reached": reached}

    def _add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        what = row.get("failed") or f"{row['per_s']:,.0f} a second"
        print(f"{row['operation']}, {row['key_bits']} bits: {what}", flush=True)
        self.keep(self)


def measure_all(lab: Lab, key_bits: Iterable[int], windows: tuple[int, ...]) -> None:
    """The sections, smaller and more telling ones first."""
    sizes = lab.sizes
    keys = {bits: stored_key(bits) for bits in key_bits}
    for bits, key in keys.items():
        count = sizes.at(sizes.products, bits)
        lab.run("element-wise", bits, element_wise(_ours(lab, key), count), element_wise(*_cpu(lab, key, count)))
    for bits, key in keys.items():
        compare_layouts(lab, key, sizes.at(sizes.layouts, bits))
    for bits, key in keys.items():
        count = sizes.at(sizes.encryptions, bits)
        # What a key holder's table takes of memory grows with 2^window: wide ones are for plain look-ups.
        for window, constant_time in ((5, True), (6, True), *((w, False) for w in windows)):
            cases = encryptions(_ours(lab, key), count, window, constant_time)
            lab.run("encryption kernels", bits, cases)
    for bits, key in keys.items():
        count = max(2, sizes.powers * 2048**3 // bits**3)
        lab.run("powers", bits, powers(_ours(lab, key), count), powers(*_cpu(lab, key, count)))
    lab.run("lattice", None, ring_cases(lab.engine, sizes.lattice, lab.put, lab.get),
            ring_cases(CpuEngine(), sizes.lattice // sizes.cpu_share, lambda x: x, lambda x: x))  # fmt: skip
    for bits, key in keys.items():
        count = max(2, sizes.calls * 2048**3 // bits**3)
        cpu_count = max(2, count // sizes.cpu_share)
        lab.run(
            "as called",
            bits,
            _as_called(scheme_cases(lab.engine, key, count)),
            scheme_cases(CpuEngine(single_tenant=True), key, cpu_count),
        )
    for bits, key in keys.items():
        count = sizes.at(sizes.sums, bits)
        lab.run("products of many", bits, products(_ours(lab, key), count), products(*_cpu(lab, key, count)))
    measure_gradient(lab, keys[next(iter(keys))])
    if 1024 in keys or 512 in keys:
        measure_haflo(lab, keys.get(1024) or keys[512])
    for bits, key in keys.items():
        lab.run(
            "FLBooster Table IV",
            bits,
            _as_called([packed_values_case(lab.engine, key, sizes.at(sizes.haflo, bits) * 8)]),
        )
        _publish(lab, FLBOOSTER["source"], {
            model: dict(zip(FLBOOSTER["columns"], figures[bits], strict=True))
            for model, figures in FLBOOSTER["instances_per_s"].items() if bits in figures
        })  # fmt: skip
    for bits, key in keys.items():
        count = sizes.at(sizes.integers, bits)
        lab.run("in and out", bits, in_and_out(_ours(lab, key), count))
        lab.run("integers", bits, integers(_ours(lab, key), count, lab.get))
    measure_choices(lab, keys[next(iter(keys))])


def compare_layouts(lab: Lab, key: PrivateKey, count: int) -> None:
    """The product mod n^2 with every number of threads to a residue that its registers may allow."""
    words = -(-key.public.bits // 32)
    for threads in lab.sizes.layout_threads:
        limbs = -(-words // threads)
        layout = Layout(threads, limbs + limbs % 2, pairs=True)
        if not 2 <= limbs <= MOST_LAYOUT_LIMBS:
            continue
        engine = CudaEngine(
            lab.device, layout_of=lambda modulus, layout=layout: replace(layout, pairs=modulus.root is not None)
        )
        bench = Bench(engine, key, lab.put)
        case = next(iter(element_wise(bench, count)))
        named = Case(f"mod_mul, {threads} threads of {layout.limbs} limbs", case.items, case.call, case.check,
                     case.multiply_adds)  # fmt: skip
        lab.run("layouts", key.public.bits, [named])


def measure_choices(lab: Lab, key: PrivateKey) -> None:
    """What the engine's own choices cost or bring: the constants of powers.py and engine.py."""
    sizes, bits = lab.sizes, key.public.bits
    is_dry = sizes == DRY
    windows, tables = ((4,), (4,)) if is_dry else ((3, 4, 5, 6), (4, 5, 6, 7, 8))
    plans = ((4, 3),) if is_dry else ((2, 6), (4, 1), (4, 2), (4, 3), (4, 6), (8, 3), (16, 2), (16, 3))
    lab.run("choices", bits, power_windows(_ours(lab, key), sizes.calls, windows, windows[1:] or windows))
    lab.run("choices", bits, table_windows(_ours(lab, key), sizes.encryptions, tables))
    lab.run("choices", bits, chunk_plans(lab.engine, key, sizes.calls, plans))


def measure_haflo(lab: Lab, key: PrivateKey) -> None:
    lab.run("HAFLO Table 2", key.public.bits, _as_called(haflo_cases(lab.engine, key, lab.sizes.haflo)))
    for row in lab.rows:
        if row["section"] == "HAFLO Table 2":
            row["published"] = HAFLO["instances_per_s"].get(row["operation"].split(",")[0])
            row["source"] = HAFLO["source"]


def measure_gradient(lab: Lab, key: PrivateKey) -> None:
    """From a gradient on the device to ciphertext bytes on the host, beside the slower of its kernels and its copy."""
    x = np.random.default_rng(4).standard_normal(lab.sizes.gradient).astype(np.float32)
    case, byte_count = gradient_case(lab.engine, key, _tensor(lab, x))
    lab.run("gradient", key.public.bits, _as_called([case]))
    row = lab.rows[-1]
    # The engine's tables are plain here; whichever window it chose, one kernel below is no slower.
    kernels = [
        other["per_s"]
        for other in lab.rows
        if other["operation"].startswith("encrypt djn, w=") and other["key_bits"] == key.public.bits
        and "failed" not in other
    ]  # fmt: skip
    if "failed" in row or not kernels or "to_host_bytes" not in lab.ceilings:
        return
    ciphertexts = byte_count * 4 / key.public.bits
    slower = max(ciphertexts / max(kernels), byte_count / lab.ceilings["to_host_bytes"])
    row["times_slower_of_both"] = _round(case.items / row["wall_per_s"] / slower)
    row["to_reach"] = f"at most {TO_REACH_GRADIENT} times the slower of kernel and copy"
    row["reached"] = row["times_slower_of_both"] <= TO_REACH_GRADIENT


def _tensor(lab: Lab, x: Any) -> Any:
    """As torch's gradients lie on a GPU; where there is no torch, an array of the device."""
    if isinstance(lab.clock, EventClock):
        try:
            import torch
        except ImportError:
            return lab.put(x)
        return torch.from_numpy(x).to(lab.device.name)
    return x


def _publish(lab: Lab, source: str, figures: Any) -> None:
    if lab.rows and lab.rows[-1]["section"].startswith("FLBooster"):
        lab.rows[-1] |= {"source": source, "published": figures}


def _as_called(cases: Iterable[Case]) -> Iterable[Case]:
    return (replace(case, by_wall=True) for case in cases)


def _ours(lab: Lab, key: PrivateKey) -> Bench:
    return Bench(lab.engine, key, lab.put)


def _cpu(lab: Lab, key: PrivateKey, count: int) -> tuple[Bench, int]:
    return Bench(CpuEngine(), key, lambda limbs: limbs), max(2, count // lab.sizes.cpu_share)


def stored_key(bits: int) -> PrivateKey:
    """A published test key; those below 2048 bits are for the papers' tables only."""
    primes = json.loads(KEY_FILE.read_text())["keys"][str(bits)][0]
    return PrivateKey(int(primes["p"], 16), int(primes["q"], 16))


def open_device(name: str) -> tuple[Any, Any]:
    """The device and its clock. Exits with 2 where there is none: why, and how to get it."""
    if name == "emulated":
        sys.path.insert(0, str(ROOT / "tests" / "engine" / "cuda"))
        from emulation.device import EmulatedDevice

        return EmulatedDevice(), WallClock()
    try:
        from hekat.engine.cuda.availability import check_device

        index = int(name.removeprefix("cuda:"))
        check_device(index)
        from hekat.engine.cuda.cupy_device import CupyDevice

        device = CupyDevice(index)
    except HekatError as error:
        print(f"no GPU to measure: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    return device, EventClock(device)


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0", help="cuda:N, or emulated: tiny sizes, nothing kept")
    parser.add_argument("--key-bits", type=int, nargs="+")
    parser.add_argument("--budget-s", type=float, default=450, help="begin nothing new after as many seconds")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that all is right; keeps nothing")
    options = parser.parse_args()
    is_dry = options.quick or options.device == "emulated"
    device, clock = open_device(options.device)
    described = device.describe()
    name = "cuda-" + re.sub(r"[^a-z0-9]+", "-", described["device"].lower()).strip("-")

    def keep(lab: Lab) -> None:
        if not is_dry:
            write_results(name, lab.rows, engine=described, ceilings=lab.ceilings, left_out=lab.left_out)

    lab = Lab(
        device,
        CudaEngine(device, single_tenant=True),
        clock,
        DRY if is_dry else Sizes(),
        time.monotonic() + options.budget_s,
        keep,
    )
    for key, value in {**machine(), **described}.items():
        print(f"{key}: {value}")
    if not is_dry:
        from gpu.ceilings import measure_ceilings

        lab.ceilings = measure_ceilings(device, clock)
        print_rows([{"ceiling": key, "a second": value} for key, value in lab.ceilings.items()])
    measure_all(lab, options.key_bits or (DRY_KEY_BITS if is_dry else KEY_BITS), (4,) if is_dry else (8, 12, 16))
    lab.keep(lab)
    print_rows(lab.rows, COLUMNS)
    for what in lab.left_out:
        print(f"left out, for time: {what}")
    if any("failed" in row for row in lab.rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
