"""What is special to the native engine: threads, interrupts, forks, memory limits, the paths of arithmetic."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from hekat import _native
from hekat.engine import cpu
from hekat.engine.cpu import CpuEngine, choose_thread_count, usable_paths
from hekat.engine.interface import Modulus
from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_from_ints
from hekat.errors import EngineError

SIZES = (0, 1, 7, 8, 9, 300)


def random_limbs(rng: np.random.Generator, *shape: int) -> LimbArray:
    return rng.integers(0, 2**64, shape, np.uint64)


def odd_modulus(rng: np.random.Generator, bits: int) -> Modulus:
    value = ints_from_limbs(random_limbs(rng, 1, -(-bits // 64)))[0] % (1 << bits)
    return Modulus(value | 1 | 1 << (bits - 1))


def every_operation(engine: CpuEngine, modulus: Modulus, count: int, rng: np.random.Generator) -> list[LimbArray]:
    """The results of all operations on one batch drawn from `rng`."""
    limbs = modulus.limb_count
    a = engine.reduce(random_limbs(rng, count, 2 * limbs), modulus)
    units = engine.reduce(np.uint64(1) << rng.integers(0, 63, (count, 1)).astype(np.uint64), modulus)
    exponents = random_limbs(rng, count, 2)
    base = limbs_from_ints([3 % modulus.value], limbs)[0]
    table = engine.fixed_base_table(base, modulus, 128)
    segments = rng.integers(0, 5, count)
    wide, narrow = random_limbs(rng, count, 9), random_limbs(rng, count, 3) | np.uint64(1)
    residues = [
        a,
        engine.mod_mul(a, units),
        engine.mod_exp(a, exponents),
        engine.mod_exp_vartime(a, exponents),
        engine.mod_exp_fixed(table, exponents),
        engine.mod_product(a),
        engine.mod_segment_product(a, segments, 5),
        engine.mod_multi_exp(units, random_limbs(rng, count, 3, 1), rng.random((count, 3)) < 0.5),
        engine.mod_inv(units),
    ]
    integers = [
        engine.int_add(wide, narrow),
        *engine.int_sub(wide, narrow),
        engine.int_mul(wide, narrow),
        *engine.int_divmod(wide, narrow),
    ]
    return [engine.store(array) for array in residues] + integers


@pytest.mark.quick_values
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("bits", [65, 512, 1000])
def test_threads_and_paths_agree(bits: int, count: int) -> None:
    def results(engine: CpuEngine) -> list[LimbArray]:
        rng = np.random.default_rng(bits)
        return every_operation(engine, odd_modulus(rng, bits), count, rng)

    expected = results(CpuEngine(1))
    for engine in (CpuEngine(4), *(CpuEngine(threads, path=path) for path in usable_paths() for threads in (1, 3))):
        for result, single in zip(results(engine), expected, strict=True):
            np.testing.assert_array_equal(result, single)


def test_calls_from_several_python_threads() -> None:
    engine = CpuEngine(2)
    modulus = odd_modulus(np.random.default_rng(1), 512)

    def work(seed: int) -> list[LimbArray]:
        return every_operation(engine, modulus, 40, np.random.default_rng(seed))

    expected = [work(seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for results, singles in zip(pool.map(work, range(8)), expected, strict=True):
            for result, single in zip(results, singles, strict=True):
                np.testing.assert_array_equal(result, single)


def test_other_python_threads_run_during_an_operation() -> None:
    # The worker sets `started` just before the operation and `done` just after. If the operation held the
    # interpreter lock, this thread could not count between the two.
    engine = CpuEngine(1)
    rng = np.random.default_rng(2)
    modulus = odd_modulus(rng, 2048)
    a = engine.reduce(random_limbs(rng, 200, 32), modulus)
    exponents = random_limbs(rng, 200, 32)
    started, done = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        engine.mod_exp(a, exponents)
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    started.wait()
    counted = 0
    while not done.is_set():
        counted += 1
    worker.join()
    # With the lock held throughout, at most one switch interval's worth is counted: some 1e5 at the very most.
    assert counted > 200_000


class StoppedError(Exception):
    """What the test's signal handler raises."""


@contextmanager
def stopped_soon() -> Iterator[None]:
    """Raises StoppedError in the main thread at the third of the signals that come every 20 ms of its computing.

    An operation that hears none until it ends gets all of them as one, which stops nothing.
    """
    heard: list[int] = []

    def stop(signal_number: int, frame: object) -> None:
        heard.append(signal_number)
        if len(heard) == 3:
            raise StoppedError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.02, 0.02)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.quick_values
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "operation",
    [
        "mod_exp",
        "mod_exp of one",
        "mod_exp_vartime of one",
        "mod_exp_fixed",
        "mod_multi_exp",
        "mod_inv",
        "mod_product",
        "mod_segment_product",
        "fixed_base_table",
        "load",
    ],
)
def test_a_signal_ends_a_long_operation(operation: str, threads: int) -> None:
    """Each would take seconds or minutes: a signal handler that raises, as Ctrl-C does, ends it."""
    engine = CpuEngine(threads)
    rng = np.random.default_rng(4)
    modulus = Modulus((1 << 8192) - 1)
    base = random_limbs(rng, 128) >> np.uint64(1)
    a = engine.load(np.broadcast_to(base, (400, 128)), modulus)
    wide = random_limbs(rng, 1, 128)
    table = engine.fixed_base_table(base, modulus, 64, 2)
    large = Modulus((1 << 16384) - 1)
    one = engine.load(limbs_from_ints([2], 1), large)
    # Tens of megabytes: for those alone that work on them.
    count = 40_000 if operation in ("mod_inv", "mod_product", "mod_segment_product") else 1
    many = engine.take(one, np.zeros(count, np.int64))
    segments = np.arange(count) % 50
    work: dict[str, Callable[[], object]] = {
        "mod_exp": lambda: engine.mod_exp(a, wide),
        "mod_exp of one": lambda: engine.mod_exp(one, random_limbs(rng, 1, 256)),
        "mod_exp_vartime of one": lambda: engine.mod_exp_vartime(one, random_limbs(rng, 1, 256)),
        "mod_exp_fixed": lambda: engine.mod_exp_fixed(table, np.zeros((500_000, 1), np.uint64)),
        "mod_multi_exp": lambda: engine.mod_multi_exp(a, np.broadcast_to(wide, (400, 50, 128))),
        "mod_inv": lambda: engine.mod_inv(many),
        "mod_product": lambda: engine.mod_product(many),
        "mod_segment_product": lambda: engine.mod_segment_product(many, segments, 50),
        "fixed_base_table": lambda: engine.fixed_base_table(base, modulus, 79_000, 4),
        "load": lambda: [engine.load(np.broadcast_to(base, (4000, 128)), modulus) for _ in range(4000)],
    }
    with pytest.raises(StoppedError), stopped_soon():
        work[operation]()
    # The engine is none the worse for it.
    np.testing.assert_array_equal(engine.store(engine.take(a, np.array([7])))[0], base)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_computes() -> None:
    engine = CpuEngine(2)
    rng = np.random.default_rng(3)
    modulus = odd_modulus(rng, 512)
    a = engine.reduce(random_limbs(rng, 500, 8), modulus)
    exponents = random_limbs(rng, 500, 8)
    expected = engine.store(engine.mod_exp(a, exponents))
    child = os.fork()
    if child == 0:
        same = np.array_equal(engine.store(engine.mod_exp(a, exponents)), expected)
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "1025", "0x2", "7" * 5000])
def test_bad_thread_counts_are_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HEKAT_THREADS", text)
    with pytest.raises(EngineError, match=r"HEKAT_THREADS is no thread count; expected .* got .*; cure: ") as caught:
        CpuEngine()
    assert repr(text)[:40] in str(caught.value)
    assert len(str(caught.value)) < 300


def test_thread_counts_are_read_and_their_reason_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEKAT_THREADS", "3")
    assert choose_thread_count() == (3, "HEKAT_THREADS=3")
    assert CpuEngine(4).describe()["threads"] == "4 (asked for)"
    engine = CpuEngine()
    for unset in ("", "  "):
        monkeypatch.setenv("HEKAT_THREADS", unset)
        assert choose_thread_count()[0] >= 1
    monkeypatch.delenv("HEKAT_THREADS")
    count, why = choose_thread_count()
    assert (count >= 1, why) == (True, "one per core")
    assert CpuEngine().describe()["threads"] == f"{count} (one per core)"
    assert engine.describe()["threads"] == "3 (HEKAT_THREADS=3)"


THREADS_REFUSED = """
import resource

import numpy as np
from hekat.engine.cpu import CpuEngine
from hekat.engine.interface import Modulus
from hekat.errors import EngineError

engine, modulus = CpuEngine(1000), Modulus((1 << 512) - 1)
pages = int(open("/proc/self/statm").read().split()[0])
room = pages * resource.getpagesize() + (64 << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
try:
    engine.load(np.ones((1, 8), np.uint64), modulus)
except EngineError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for a limit of memory")
def test_threads_that_cannot_be_started_are_an_engine_error() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS_REFUSED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "threads cannot be started; expected a system that starts 999 threads" in done.stdout
    assert "cure: set HEKAT_THREADS below 1000" in done.stdout


def test_what_is_kept_for_a_modulus_goes_with_it() -> None:
    engine, modulus = CpuEngine(1), Modulus((1 << 512) - 1)
    a = engine.load(limbs_from_ints([5], 1), modulus)
    assert len(engine._moduli) == 1
    alive = weakref.ref(modulus)
    del a, modulus
    gc.collect()
    assert alive() is None
    assert len(engine._moduli) == 0


def test_describe_names_path_threads_and_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEKAT_CPU", raising=False)
    portable = CpuEngine(2, path="portable").describe()
    assert portable["arithmetic"] == "portable: plain C++ (asked for)"
    named = {"arithmetic", "constant time", "threads", "randomiser tables", "table memory", "compiler"}
    assert set(portable) == named
    fastest = CpuEngine(2)
    assert fastest.path == usable_paths()[-1]
    beyond = fastest.path != _native.built_paths()[-1]
    assert ("this processor lacks what" if beyond else "(found on this processor)") in fastest.describe()["arithmetic"]
    monkeypatch.setenv("HEKAT_CPU", "portable")
    assert CpuEngine(2).describe()["arithmetic"] == "portable: plain C++ (forced by HEKAT_CPU)"
    assert CpuEngine(2, path=fastest.path).path == fastest.path


def test_powers_go_abreast_on_each_thread_and_in_each_lane() -> None:
    lanes = {path: CpuEngine(1, path=path).chunk_plan.abreast for path in usable_paths()}
    assert lanes == {path: 8 if path == "ifma" else 1 for path in usable_paths()}
    assert CpuEngine(3, path="portable").chunk_plan.abreast == 3
    assert set(_native.built_paths()) <= set(cpu.LANES)


def test_every_path_that_is_built_has_a_description() -> None:
    assert set(_native.built_paths()) <= set(cpu.ARITHMETIC)
    assert _native.built_paths()[0] == usable_paths()[0] == "portable"
    for path in usable_paths():
        assert CpuEngine(1, path=path).path == path


@pytest.mark.parametrize("name", ["avx", "X86", "portable ifma", "0"])
def test_an_unknown_path_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with pytest.raises(EngineError, match=r"path names no path; expected portable.* got .*; cure: use '"):
        CpuEngine(path=name)
    monkeypatch.setenv("HEKAT_CPU", name)
    with pytest.raises(
        EngineError, match=r"HEKAT_CPU names no path; expected portable.* got .*; cure: use '"
    ) as caught:
        CpuEngine()
    assert repr(name) in str(caught.value)


def test_a_path_that_the_processor_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "built_paths", lambda: ["portable", "x86", "ifma"])
    monkeypatch.setattr(
        _native,
        "lacks_for",
        lambda path: [] if path == "portable" else ["adx"] if path == "x86" else ["adx", "avx512f"],
    )
    monkeypatch.delenv("HEKAT_CPU", raising=False)
    assert CpuEngine(1).describe()["arithmetic"] == ("portable: plain C++ (this processor lacks what x86 needs: adx)")
    monkeypatch.setenv("HEKAT_CPU", "ifma")
    with pytest.raises(
        EngineError,
        match=r"HEKAT_CPU names a path that cannot be taken: this processor lacks what ifma needs: adx, avx512f; "
        r"expected portable; got 'ifma'; cure: use 'portable', or leave HEKAT_CPU unset to take the fastest",
    ):
        CpuEngine(1)


def test_the_native_core_takes_no_other_path() -> None:
    limbs = np.full((1, 1), 7, np.uint64)
    with pytest.raises(ValueError, match="no path of this processor"):
        _native.Modulus(limbs, None, "avx")
    with pytest.raises(ValueError, match="there is no such path"):
        _native.lacks_for("avx")


@pytest.mark.parametrize(
    "limbs", [[], [1], [6], [7, 0], [1] * 277], ids=["none", "one", "even", "zero on top", "277 limbs"]
)
def test_the_native_core_takes_no_other_moduli(limbs: list[int]) -> None:
    wrong, root = np.array([limbs], np.uint64), np.array([[7]], np.uint64)
    for path in usable_paths():
        with pytest.raises(ValueError, match="a modulus is one odd number above 1"):
            _native.Modulus(wrong, None, path)
        with pytest.raises(ValueError, match="a root is one odd number above 1"):
            _native.Modulus(root * root, wrong, path)


def test_the_native_core_takes_the_largest_modulus_it_names() -> None:
    limbs = np.full((1, 276), 2**64 - 1, np.uint64)
    values = np.full((3, 276), 2**63, np.uint64)
    for path in usable_paths():
        pool, modulus = _native.ThreadPool(1), _native.Modulus(limbs, None, path)
        rows, found = np.empty((3, modulus.row_limbs), np.uint64), np.empty_like(values)
        assert modulus.load(pool, rows, values) is None
        modulus.mul(pool, rows, rows, rows)
        modulus.store(pool, found, rows)
        n, value = ints_from_limbs(limbs)[0], ints_from_limbs(values)[0]
        assert ints_from_limbs(found) == [value * value % n] * 3


@pytest.mark.parametrize("square", [[47], [51], [49, 1], [2401]])
def test_the_native_core_takes_no_root_of_another_modulus(square: list[int]) -> None:
    root = np.array([[7]], np.uint64)
    for path in usable_paths():
        assert _native.Modulus(root * root, root, path).row_limbs >= 1
        with pytest.raises(ValueError, match="a modulus is the square of its root"):
            _native.Modulus(np.array([square], np.uint64), root, path)


@pytest.mark.parametrize("exponent_bits", [2**20 + 1, 2**63, 2**64 - 1])
def test_the_native_core_makes_no_tables_of_sizes_that_overflow(exponent_bits: int) -> None:
    modulus = _native.Modulus(np.array([[7]], np.uint64), None, "portable")
    assert modulus.table_words(2**20, 16, False) == 2**16 * 2**16 * modulus.row_limbs
    with pytest.raises(ValueError, match=r"exponents of at most 2\^20 bits"):
        modulus.table_words(exponent_bits, 2, False)
