"""The counter never gives a number twice: not after a crash, not to two holders, not from a damaged file."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hekat.errors import InputError, StateError
from hekat.state import Counter
from hekat.state.counter import MAX_COUNT, _encode


def test_numbers_follow_each_other_across_openings(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    with Counter.create(path) as counter:
        assert [counter.next(), counter.next()] == [0, 1]
    with Counter.open(path) as counter:
        assert counter.reserve(5) == range(2, 7)
        assert counter.next() == 7
    with Counter.open(path) as counter:
        assert counter.next() == 8


STEP = st.one_of(
    st.sampled_from(["reopen", "fail", "fail to take"]),
    st.integers(1, 5),
    st.tuples(st.just("take"), st.integers(0, 3)),
)


@given(steps=st.lists(STEP, max_size=12))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_walk_of_reservations_failures_and_openings_repeats(
    steps: list[str | int | tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("walk") / "counter"
    counter = Counter.create(path)
    given_out: list[int] = []
    for step in steps:
        if step == "reopen":
            counter.close()
            counter = Counter.open(path)
        elif step in ("fail", "fail to take"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "fsync", raise_no_space)
                with pytest.raises(StateError):
                    counter.next() if step == "fail" else counter.take(counter.next_value + 1)
        elif isinstance(step, tuple):
            number = counter.next_value + step[1]
            counter.take(number)
            given_out.append(number)
        else:
            given_out.extend(counter.reserve(int(step)))
    counter.close()
    assert given_out == sorted(set(given_out))


def test_a_taken_number_and_all_below_it_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    with Counter.create(path) as counter:
        assert counter.next_value == 0
        counter.take(0)
        counter.take(5)
        assert counter.next_value == 6
        assert counter.next() == 6
    with Counter.open(path) as counter:
        assert counter.next_value == 7
        for number in (0, 3, 5, 6):
            with pytest.raises(
                StateError, match=rf"number {number} of counter .* is used already; expected 7 or above"
            ):
                counter.take(number)
        counter.take(7)
        assert counter.next() == 8


def test_a_number_is_gone_from_the_disk_before_it_counts_as_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "counter"
    with Counter.create(path) as counter:
        monkeypatch.setattr(os, "fsync", raise_no_space)
        with pytest.raises(StateError):
            counter.take(4)
        monkeypatch.undo()
        assert counter.next_value == 0
        counter.take(4)
        assert path.read_bytes() == _encode(5)


def test_threads_that_take_one_number_do_not_share_it(tmp_path: Path) -> None:
    taken: list[int] = []

    def take(number: int) -> None:
        try:
            counter.take(number)
        except StateError:
            return
        taken.append(number)

    with Counter.create(tmp_path / "counter") as counter:
        threads = [threading.Thread(target=lambda: [take(number) for number in range(10)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    assert sorted(taken) == sorted(set(taken))
    assert 9 in taken


def raise_no_space(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_number_is_gone_from_the_disk_before_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "counter"
    with Counter.create(path) as counter:
        real = Path.replace

        def crash_after_the_write(self: Path, target: Path) -> Path:
            real(self, target)
            raise KeyboardInterrupt

        monkeypatch.setattr(Path, "replace", crash_after_the_write)
        with pytest.raises(KeyboardInterrupt):
            counter.next()
        monkeypatch.undo()
    with Counter.open(path) as counter:
        assert counter.next() == 1  # 0 is wasted, since it may have been used


def test_only_a_durable_counter_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with Counter.create(tmp_path / "passing", durable=False) as counter:
        counter.take(4)
    with Counter.open(tmp_path / "passing", durable=False) as counter:
        assert counter.next() == 5
    assert synced == []
    with Counter.create(tmp_path / "lasting") as counter:
        assert counter.next() == 0
    assert len(synced) == 4, "the file and its folder, each time"


CRASH = """
import os, sys
from pathlib import Path
from hekat.state import Counter
counter = Counter.open(Path(sys.argv[1]))
os.write(1, f"{counter.next()}\\n".encode())
os._exit(9)
"""


def test_processes_that_die_never_share_a_number(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    Counter.create(path).close()
    seen = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", CRASH, str(path)], capture_output=True, check=False, text=True)
        assert done.returncode == 9, done.stderr
        seen.append(int(done.stdout))
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("again", [Counter.open, Counter.create])
def test_one_holder_at_a_time(tmp_path: Path, again: Callable[[Path], Counter]) -> None:
    path = tmp_path / "counter"
    with (
        Counter.create(path),
        pytest.raises(StateError, match=r"is open elsewhere.*cure: wait until the other run ends"),
    ):
        again(path)
    with Counter.open(path) as counter:
        assert counter.next() == 0


def test_another_process_is_refused_while_this_one_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    with Counter.create(path):
        done = subprocess.run([sys.executable, "-c", CRASH, str(path)], capture_output=True, check=False, text=True)
    assert done.returncode == 1
    assert "is open elsewhere" in done.stderr


def test_a_forked_process_gets_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Counter.create(tmp_path / "counter") as counter:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        for use in (counter.next, lambda: counter.take(3), lambda: counter.next_value):
            with pytest.raises(StateError, match="a forked process"):
                use()
        monkeypatch.undo()
        assert counter.next() == 0


def test_threads_share_without_repeating(tmp_path: Path) -> None:
    numbers: list[int] = []
    with Counter.create(tmp_path / "counter") as counter:
        threads = [threading.Thread(target=lambda: numbers.extend(counter.next() for _ in range(10))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    assert sorted(numbers) == list(range(80))


def test_creating_never_sets_a_counter_back(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    with Counter.create(path) as counter:
        counter.reserve(10)
    with pytest.raises(StateError, match="already there"):
        Counter.create(path)
    with Counter.open(path) as counter:
        assert counter.next() == 10


def test_a_missing_counter_is_not_taken_for_zero(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    with Counter.create(path) as counter:
        counter.next()
    path.unlink()
    with pytest.raises(StateError, match="cannot be read; got No such file"):
        Counter.open(path)
    assert not path.exists()


WHOLE = _encode(1234)


@pytest.mark.parametrize(
    "content",
    [b"", b"1234\n", WHOLE[:-1], WHOLE + b"\n", WHOLE.replace(b"1234", b"1233"), WHOLE.replace(b"1234", b"-234"),
     WHOLE.replace(b"counter 1", b"counter 2"), WHOLE.replace(b"1234", b"9" * 5000), bytes(100), b"\xff\n\xff\n\xff\n"],
)  # fmt: skip
def test_a_damaged_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "counter"
    path.write_bytes(content)
    for _ in range(2):  # the second time too: a refusal gives the lock back
        with pytest.raises(StateError, match=r"is damaged.*cure: do not set it back"):
            Counter.open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("position", range(len(WHOLE)))
def test_every_flipped_bit_is_refused(tmp_path: Path, position: int) -> None:
    path = tmp_path / "counter"
    for bit in range(8):
        damaged = bytearray(WHOLE)
        damaged[position] ^= 1 << bit
        path.write_bytes(damaged)
        with pytest.raises(StateError, match="is damaged"):
            Counter.open(path)


def test_disk_failures(
    tmp_path: Path, disk_failure: tuple[str, int, str], failing_call: Callable[[str, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / "counter"
    with Counter.create(path) as counter:
        counter.next()
        before = path.read_bytes()
        failing_call(*disk_failure[:2])
        with pytest.raises(StateError, match=disk_failure[2]):
            counter.next()
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert counter.next() == 1


def test_creating_on_a_full_disk_leaves_no_counter(tmp_path: Path, failing_call: Callable[[str, int], None]) -> None:
    failing_call("fsync", errno.ENOSPC)
    with pytest.raises(StateError, match="free some space"):
        Counter.create(tmp_path / "counter")
    assert not (tmp_path / "counter").exists()


def test_the_end_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    path.write_bytes(_encode(MAX_COUNT - 1))
    with Counter.open(path) as counter:
        with pytest.raises(StateError, match="used up"):
            counter.reserve(2)
        for number in (MAX_COUNT, 10**30):
            with pytest.raises(StateError, match="used up"):
                counter.take(number)
        assert counter.next() == MAX_COUNT - 1
        with pytest.raises(StateError, match="used up"):
            counter.next()


def test_misuse(tmp_path: Path) -> None:
    counter = Counter.create(tmp_path / "counter")
    with pytest.raises(InputError, match="at least 1"):
        counter.reserve(0)
    with pytest.raises(InputError, match="0 or above; got -1"):
        counter.take(-1)
    counter.close()
    counter.close()
    for use in (counter.next, lambda: counter.take(0), lambda: counter.next_value):
        with pytest.raises(StateError, match="is closed"):
            use()
    with pytest.raises(StateError, match="its folder must be there"):
        Counter.create(tmp_path / "missing" / "counter")
