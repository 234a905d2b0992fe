"""The privacy budget of one data set at a site: a durable ledger of what was released, over jobs and runs.

A release is written, and is on the disk, before the round's first block leaves. Nothing takes it back: a round that
failed, or is trained again, has been charged. The file is a header and one line a release, append-only, each with the
SHA-256 of the line before it and itself; `<name>.head` beside it holds how many lines there are and the last digest, so
that lines cut off the end show as well. A restored snapshot of the machine forgets what was spent after it: no file can
notice that.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from hekat.atomic_file import create_file, replace_file, write_all
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import BudgetError, PolicyError, StateError
from hekat.privacy.accounting import Neighbours, Release, count_releases, epsilon_of, usual_colluders
from hekat.privacy.accounting.largest_delta import delta_below
from hekat.state.file_lock import locked
from hekat.toml_text import toml_key

_FORMAT = "hekat privacy budget 2"
# Without `colluders`: written before sites could say any.
_FORMAT_1 = "hekat privacy budget 1"
_MOST_COUNT = 10**12


@dataclass(frozen=True)
class Promise:
    """What sums with noise promise: `colluders` is t_c of the claim, `least_parties` the fewest in a sum."""

    unit: str
    neighbours: str
    colluders: int
    least_parties: int


def least_colluders(colluders: int | None, least_parties: int) -> int:
    """The fewest colluders that a claim may name at a site that says `colluders`, of jobs with `least_parties` in their
    smallest sums."""
    if colluders is None:
        return usual_colluders(least_parties)
    return min(colluders, least_parties - 1)  # all others in the sum


@dataclass(frozen=True)
class BudgetTerms:
    """What a site grants one data set: `limit` is epsilon at `delta`, for `unit` ("row" or "party").

    `colluders` are the parties together, each knowing its own noise, that every claim has to hold against at least:
    claims against fewer do not add up to a promise against so many. None: all but two of the fewest in each sum.
    """

    data_set: str
    unit: str
    neighbours: Neighbours
    delta: float
    limit: float
    colluders: int | None = None

    def check_unit(self, party: str, promise: Promise, whose: str) -> None:
        """Raise PolicyError where the promise is of another unit than `party` grants; `whose` begins its name."""
        _check_same("unit", self.unit, promise.unit, party, whose)

    def check_neighbours(self, party: str, promise: Promise, whose: str) -> None:
        """Raise PolicyError where the promise is of other neighbours, as `check_unit`."""
        _check_same("neighbours", self.neighbours, promise.neighbours, party, whose)

    def check_colluders(self, party: str, promise: Promise, whose: str) -> None:
        """Raise PolicyError where the promise is against fewer colluders than `party` asks for, as `check_unit`."""
        if promise.colluders >= (least := least_colluders(self.colluders, promise.least_parties)):
            return
        said = "nothing, so all but two" if self.colluders is None else f"colluders = {self.colluders}"
        raise PolicyError(
            f"{whose}colluders is less than {party}'s budget asks for",
            expected=f"{least} or more: [{toml_key('party', party, 'privacy')}] says {said}, and a sum has "
            f"{promise.least_parties} parties or more",
            got=str(promise.colluders),
            cure="raise it, or let the site's owner set colluders there, the parties that may work together",
        )

    @property
    def _header(self) -> dict[str, Any]:
        """What a file is for; the limit is the owner's to change."""
        return {"format": _FORMAT, **{key: value for key, value in asdict(self).items() if key != "limit"}}

    def _is_header(self, found: object) -> bool:
        """Whether a file that begins with `found` is for these terms."""
        ours = self._header
        del ours["colluders"]
        is_first = self.colluders is None and found == {**ours, "format": _FORMAT_1}
        return is_first or found == self._header


@dataclass(frozen=True)
class Spent:
    """What all releases of a data set have cost: `epsilon` of `limit`, how many there were, and of the job at hand.

    `colluders` as the site says it.
    """

    epsilon: float
    limit: float
    release_count: int
    job_count: int = 0
    colluders: int | None = None

    @property
    def left(self) -> float:
        """What is left of the limit; never below 0."""
        return max(0.0, self.limit - self.epsilon)


class PrivacyBudget:
    """The budget in the file at `path`, which is made by the first reservation. Every call takes the file's lock."""

    def __init__(self, path: Path, terms: BudgetTerms) -> None:
        self._path, self._terms = path, terms

    @classmethod
    def in_folder(cls, folder: Path, terms: BudgetTerms) -> PrivacyBudget:
        """The budget of the data set that `terms` name, in a party's state `folder`."""
        # A data set's name may hold any sign.
        name = hashlib.sha256(terms.data_set.encode()).hexdigest()[:16]
        return cls(folder / f"privacy-{name}.jsonl", terms)

    @property
    def terms(self) -> BudgetTerms:
        """What the site grants."""
        return self._terms

    def check_promise(self, party: str, promise: Promise, whose: str) -> None:
        """Raise PolicyError unless the budget, of `party`, is for this; `whose` begins the name of what differs."""
        for check in (self._terms.check_unit, self._terms.check_neighbours, self._terms.check_colluders):
            check(party, promise, whose)

    def check_delta(self, party: str, count: int, units: str) -> None:
        """Raise PolicyError where the budget's delta, of `party`, lets one of `count` rows or parties show whole;
        `units` says which ones."""
        delta = self._terms.delta
        if expected := delta_below(delta, count, units):
            raise PolicyError(
                f"the delta of {party}'s budget is too large for {units}",
                expected=expected,
                got=f"{delta:g} in [{toml_key('party', party, 'privacy')}]",
                cure="let the site's owner grant a budget of a smaller delta, under another data_set",
            )

    def spent(self) -> Spent:
        """What was spent so far, by all jobs. Raises StateError where the file is damaged or another data set's."""
        return self._weigh(self._look())

    def check_ahead(self, releases: Sequence[Release], what: str = "") -> Spent:
        """What was spent so far, where these releases would keep to the limit too; `what` names them in errors.

        Raises BudgetError, StateError.
        """
        before = self._look()
        self._check([*before, *releases], what or f"{len(releases)} rounds")
        return self._weigh(before)

    def reserve(self, job: bytes, round_number: int, release: Release) -> Spent:
        """Charge one release, and return once that is on the disk; what was spent with it.

        Raises:
            BudgetError: The release would pass the limit; nothing is charged.
            StateError: The file is damaged, another data set's, or cannot be written.
        """
        with disk_errors_as_state_errors(f"{self._path.parent} could not be made"):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self._path):
            before, digest = self._read()
            after = [*(one for _, one in before), release]
            self._check(after, f"round {round_number}")
            self._append({"job": job.hex(), "round": round_number, **asdict(release)}, digest, len(after))
        return replace(self._weigh(after), job_count=1 + sum(name == job.hex() for name, _ in before))

    def _look(self) -> list[Release]:
        """The releases so far; where none was made yet, nothing is written, a lock neither."""
        if not (os.path.lexists(self._path) or os.path.lexists(self._head)):
            return []
        with locked(self._path):
            return [one for _, one in self._read()[0]]

    def _weigh(self, releases: Sequence[Release]) -> Spent:
        terms = self._terms
        epsilon = epsilon_of(count_releases(releases), terms.delta, terms.neighbours)
        return Spent(epsilon, terms.limit, len(releases), colluders=terms.colluders)

    def _check(self, releases: Sequence[Release], what: str) -> None:
        spent = self._weigh(releases)
        if spent.epsilon <= self._terms.limit:
            return
        shown = "no finite epsilon" if math.isinf(spent.epsilon) else f"epsilon {spent.epsilon:.4g}"
        raise BudgetError(
            f"the privacy budget of data set {self._terms.data_set!r} is spent: {what} would pass the limit",
            expected=f"epsilon up to {self._terms.limit:g} at delta {self._terms.delta:g}, over all jobs",
            got=f"{shown} after {len(releases)} releases",
            cure="train fewer rounds or with more noise, or let the site's owner raise the limit in the site file",
        )

    def _read(self) -> tuple[list[tuple[str, Release]], str]:
        """The releases with their jobs, and the last line's digest, after mending what a crash left. The lock is
        held."""
        if not os.path.lexists(self._path):
            if os.path.lexists(self._head):
                raise self._damaged("its head alone")
            return [], ""
        *lines, torn = read_file(self._path).split(b"\n")
        header, *lines = lines or [b""]
        self._check_header(header)
        count, counted = self._read_head()
        digest = _chain("", header)
        digests = [digest]
        releases: list[tuple[str, Release]] = []
        for line in lines:
            release, digest = self._read_line(line, digest)
            digests.append(digest)
            releases.append(release)
        # A process that ended within `_append` leaves a part of a line, or a whole one that the head does not count.
        if not count <= len(lines) <= count + 1 or (torn and len(lines) > count):
            raise self._damaged(f"{len(lines)} releases where {count} were counted")
        if count and digests[count] != counted:
            raise self._damaged("other releases than were counted")
        if torn:
            with disk_errors_as_state_errors(f"{self._path} could not be mended"):
                os.truncate(self._path, self._path.stat().st_size - len(torn))
        if len(lines) > count:
            self._write_head(len(lines), digest)
        return releases, digest

    def _read_line(self, line: bytes, before: str) -> tuple[tuple[str, Release], str]:
        try:
            entry = json.loads(line)
            digest, job = entry.pop("digest"), str(entry["job"])
            release = Release(**{one.name: entry[one.name] for one in fields(Release)})
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._damaged("a line that is no release") from None
        if digest != _chain(before, _encode(entry)) or not _is_sound(release):
            raise self._damaged("a line that does not follow from the lines before it")
        return (job, release), digest

    def _check_header(self, header: bytes) -> None:
        try:
            found = json.loads(header)
        except ValueError:
            raise self._damaged("another first line") from None
        if not self._terms._is_header(found):
            raise StateError(
                f"{self._path} is the privacy budget of other terms than the site file says",
                expected=_say_terms(self._terms._header),
                got=_say_terms(found) if isinstance(found, dict) else "no header",
                cure="set the site file's data_set, unit, neighbours, delta, colluders back: only epsilon may change",
            )

    @property
    def _head(self) -> Path:
        return self._path.with_name(self._path.name + ".head")

    def _read_head(self) -> tuple[int, str]:
        if not os.path.lexists(self._head):
            return 0, ""
        count, _, digest = read_file(self._head).decode("ascii", "replace").strip().partition(" ")
        if not (count.isdecimal() and len(count) <= 12 and len(digest) == 64):
            raise self._damaged("a head that says nothing")
        return int(count), digest

    def _write_head(self, count: int, digest: str) -> None:
        replace_file(self._head, f"{count} {digest}\n".encode())

    def _append(self, entry: dict[str, Any], before: str, count: int) -> None:
        if not before:
            header = _encode(self._terms._header)
            create_file(self._path, header + b"\n", mode=0o600)
            before = _chain("", header)
        digest = _chain(before, _encode(entry))
        with disk_errors_as_state_errors(f"{self._path} could not be written"):
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
            size = os.fstat(handle).st_size
            try:
                write_all(handle, _encode({**entry, "digest": digest}) + b"\n")
                os.fsync(handle)
            except BaseException:
                with suppress(OSError):  # the reason to tell is why the line did not fit
                    os.ftruncate(handle, size)
                raise
            finally:
                os.close(handle)
        self._write_head(count, digest)

    def _damaged(self, got: str) -> StateError:
        return StateError(
            f"the privacy budget {self._path} is damaged",
            expected="every release as it was written, in its order",
            got=got,
            cure="restore the file and its .head; without them nobody knows what was spent, so begin with a new data "
            "set's name only for other rows",
        )


def _check_same(key: str, ours: str, theirs: str, party: str, whose: str) -> None:
    if ours != theirs:
        raise PolicyError(
            f"{whose}{key} is not the one of {party}'s budget",
            expected=f"{ours!r}, as [{toml_key('party', party, 'privacy')}] says",
            got=repr(theirs),
            cure=f"change {key} there, or let the site's owner grant a budget of that kind",
        )


def _encode(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, sort_keys=True, allow_nan=False).encode()


def _chain(before: str, line: bytes) -> str:
    return hashlib.sha256(b"hekat/budget/1" + bytes.fromhex(before) + line).hexdigest()


def _is_sound(one: Release) -> bool:
    """Whether the numbers are ones that a release can have: a file may hold anything."""
    numbers = (one.noise, one.sampling, one.std)
    counts = (one.value_count, one.party_count)
    return (
        all(isinstance(number, float) and 0 < number < math.inf for number in numbers)
        and one.sampling <= 1
        and all(isinstance(count, int) and 1 <= count <= _MOST_COUNT for count in counts)
    )


def _say_terms(header: dict[str, Any]) -> str:
    said = [f"{key} {header[key]!r}" for key in ("data_set", "unit", "neighbours", "delta") if key in header]
    return ", ".join([*said, f"colluders {header.get('colluders') or 'not said'}"])
