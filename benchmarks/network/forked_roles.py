"""Roles as forked processes of one benchmark: each measures itself, and all rounds average one float32 vector."""

from __future__ import annotations

import gc
import itertools
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hekat.channel.mailbox import MailboxChannel
from network.shaped_link import ShapedPost, serving

FloatArray = npt.NDArray[np.float32]


@dataclass
class RoleFigures:
    """What one role measured: when each round ended by the wall clock, memory after each, bytes that passed."""

    role: str
    round_ends: list[float] = field(default_factory=list)
    resident_bytes: list[int] = field(default_factory=list)
    peak_bytes: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    trips: int = 0
    before_rounds: list[int] = field(default_factory=lambda: [0, 0, 0])
    last_mean: list[float] = field(default_factory=list)
    error: str = ""

    def begin_rounds(self, post: ShapedPost) -> None:
        """From here on rounds count, and what passes."""
        self.before_rounds = [post.bytes_out, post.bytes_in, post.trips]
        self.round_ends.append(time.time())

    def end_round(self) -> None:
        self.round_ends.append(time.time())
        self.resident_bytes.append(resident_bytes())

    def end_rounds(self, mean: FloatArray) -> None:
        """Keep of the last mean what tells a wrong one."""
        self.last_mean = [float(mean[0]), float(mean[-1]), float(np.abs(mean).sum(dtype=np.float64))]

    def close(self, post: ShapedPost) -> None:
        """The last figures, in place of what the process would lose at its end."""
        self.peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.bytes_out, self.bytes_in, self.trips = post.bytes_out, post.bytes_in, post.trips
        (post.place / f"{self.role}.json").write_text(json.dumps(asdict(self)))

    @property
    def round_s(self) -> list[float]:
        return [after - before for before, after in itertools.pairwise(self.round_ends)]

    @property
    def median_round_s(self) -> float:
        """Of all rounds but the first, where there are more."""
        return statistics.median(self.round_s[1:] or self.round_s)

    def a_round(self, name: str) -> float:
        """`bytes_out`, `bytes_in` or `trips` of one round, without what came before the first."""
        before = dict(zip(("bytes_out", "bytes_in", "trips"), self.before_rounds, strict=True))[name]
        count: int = getattr(self, name) - before
        return count / len(self.round_s)


def play_forked(roles: Iterable[str], play: Callable[[str, Path], None]) -> dict[str, RoleFigures]:
    """The figures of each role after `play(role, place)` in a process of its own; a role that left has none."""
    names = list(roles)
    with tempfile.TemporaryDirectory(prefix="hekat-") as folder:
        place = Path(folder)
        pids = [_fork(lambda role=role: play(role, place)) for role in names]  # type: ignore[misc]
        for pid in pids:
            os.waitpid(pid, 0)
        return {
            role: RoleFigures(**json.loads(path.read_text()))
            for role in names
            if (path := place / f"{role}.json").is_file()
        }


@contextmanager
def playing(post: ShapedPost, channel: MailboxChannel, figures: RoleFigures) -> Iterator[None]:
    """The block is a role's part over `channel`, whose parcels `post` serves: the others are told how it ended, and
    `figures` are kept with its error."""
    with serving(post, channel):
        try:
            yield
        except BaseException as error:
            figures.error = f"{type(error).__name__}: {error}"
            channel.fail(error)
        else:
            channel.finish()
    figures.close(post)


def values_of(parties: tuple[str, ...], party: str, value_count: int) -> FloatArray:
    """The party's update: uniform in [-0.5, 0.5), of its own seed."""
    rng = np.random.default_rng(parties.index(party))
    return rng.random(value_count, dtype=np.float32) - np.float32(0.5)


def check_mean(
    figures: dict[str, RoleFigures],
    parties: tuple[str, ...],
    value_count: int,
    left: Collection[str],
    holders: Collection[str] | None = None,
) -> None:
    """End the benchmark unless each of `holders` (None: the parties in `left`) has the mean of the updates of `left`,
    each of weight 1, and none of both ended by an error."""
    expected = np.zeros(value_count)
    for party in left:
        expected += values_of(parties, party, value_count)
    expected /= len(left)
    for party in {*left, *(holders or ())}:
        if party not in figures:
            raise SystemExit(f"{party} left no figures: its process ended")
        if figures[party].error:
            raise SystemExit(f"{party} ended by {figures[party].error}")
    for party in left if holders is None else holders:
        first, last, total = figures[party].last_mean
        wrong = max(abs(first - expected[0]), abs(last - expected[-1]), abs(total / np.abs(expected).sum() - 1))
        if wrong > 1e-3:
            raise SystemExit(f"the mean of {party} is wrong by {wrong}")


def resident_bytes() -> int:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _fork(role: Callable[[], None]) -> int:
    gc.collect()
    pid = os.fork()
    if pid == 0:
        try:
            role()
        finally:
            os._exit(0)
    return pid
