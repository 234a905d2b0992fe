"""A party's flips of labels, on disk, so that every run on a row answers with the same flip of its label.

Two answers with flips of their own would tell twice as much of a label. So no flip is drawn in a run: all follow from
32 random bytes of the party, by a keyed hash of the question, the row's id and its class. A part of the rows, another
order, a resumed run, and another data set with the same ids get the same answers. An older copy of the file gives them
too, and the file does not grow with rows. Where a label is corrected, the row answers anew, as for a class of its own
(memoised answers; source: Erlingsson, Pihur and Korolova, RAPPOR, CCS 2014, section 3).

`hekat label flips 1`, then an entry a line, then a checksum; digests and the key are in hex.

| line | says |
|---|---|
| `party DIGEST` | whose flips these are |
| `key KEY` | the secret that all flips follow from |
| `question DIGEST EPSILON CLASSES IDS` | once a question: its epsilon, digests of its classes and of its id columns |
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from hekat.atomic_file import create_file, replace_file
from hekat.channel.canonical import encode_fields
from hekat.data.ids import Ids
from hekat.digest_text import is_digest
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import InputError, PolicyError, StateError
from hekat.protocol.vertical.label_privacy.randomised_response import IntArray, RandomisedResponse
from hekat.state.checksum_line import with_checksum
from hekat.state.file_lock import locked

LABEL_FLIPS_FILE: Final = "label_flips"
_TITLE: Final = "hekat label flips 1"
_KEY_BYTES: Final = 32
_DRAW_BYTES: Final = 16
_FILE_MODE: Final = 0o600


@dataclass(frozen=True)
class LabelQuestion:
    """What labels say, as the site calls it (the label's column), and the names of all classes by their numbers."""

    name: str
    classes: tuple[str, ...]


@dataclass(frozen=True)
class _Record:
    """The content of a file: questions by digest, each with its epsilon and the digests of classes and id columns."""

    party: str
    key: bytes
    questions: tuple[tuple[str, str, str, str], ...] = ()


class LabelFlips:
    """The flips of one party's labels; made by `open_or_create`, or `in_memory` where one process has all tables.

    Threads and processes may share the file.
    """

    def __init__(self, record: _Record, path: Path | None, *, is_new: bool = False) -> None:
        """`is_new`: the key was drawn for this run, so runs before it, if there were any, had other flips."""
        self._record, self._path, self.is_new = record, path, is_new

    @classmethod
    def open_or_create(cls, path: Path, party: str) -> Self:
        """The flips at `path`, new ones where no file is. Raises StateError where it is damaged, another party's, or
        cannot be read or written: none of them is taken for no file."""
        with disk_errors_as_state_errors(f"{path} could not be read or written"):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(path):
            if os.path.lexists(path):
                return cls(_read(path, party), path)
            record = _new_record(party)
            create_file(path, _encode(record), mode=_FILE_MODE)
            return cls(record, path, is_new=True)

    @classmethod
    def in_memory(cls, party: str) -> Self:
        """Flips that end with this process: only where it has the tables of all parties, so that none is hidden."""
        return cls(_new_record(party), None)

    @property
    def digest(self) -> bytes:
        """32 bytes that stand for the flips, and tell nothing of them: a resumed run goes on with the same."""
        return hashlib.sha256(b"hekat/label-flips/digest/1" + self._record.key).digest()

    def __repr__(self) -> str:
        return f"LabelFlips({'in memory' if self._path is None else self._path})"

    def flip(
        self, classes: IntArray, ids: Ids | None, question: LabelQuestion, response: RandomisedResponse
    ) -> IntArray:
        """The class numbers (rows,) that stand in for the true ones wherever labels are used.

        The question is on disk before this returns.

        Raises:
            InputError: rows have no ids, or class numbers do not fit rows or question.
            PolicyError: the question was answered before at another epsilon, with other classes or other id columns.
            StateError: the file is gone or damaged, or cannot be written.
        """
        if ids is None:
            raise InputError(
                "label privacy needs ids of rows",
                expected="an id in each row of the guest's table, by which a later run gives it the same flip",
                got="rows without ids",
                cure="name the id column in the site file, also where rows are aligned",
            )
        _check_classes(classes, ids, question, response)
        self._note(question, ids, response)
        ranks = np.argsort(np.argsort(np.array(question.classes)))
        answers = response.answer(ranks[classes], self._draw(classes, ids, question))
        numbers: IntArray = np.argsort(ranks)[answers]
        return numbers

    def _draw(self, classes: IntArray, ids: Ids, question: LabelQuestion) -> npt.NDArray[np.uint64]:
        """Two uniform numbers a row (rows, 2), which follow from the row's id and class."""
        names = [encode_fields(question.name.encode(), name.encode()) for name in question.classes]
        keyed = hashlib.blake2b(key=self._record.key, digest_size=_DRAW_BYTES, person=b"hekat/flip/1")
        digests = []
        for number, row_id in zip(classes.tolist(), ids.to_bytes(), strict=True):
            row = keyed.copy()
            row.update(names[number] + row_id)
            digests.append(row.digest())
        return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64).reshape(-1, 2)

    def _note(self, question: LabelQuestion, ids: Ids, response: RandomisedResponse) -> None:
        """Note the question, or hold this run to how it was answered before."""
        entry = (
            _digest(question.name.encode()),
            repr(float(response.epsilon)),
            _digest(*sorted(name.encode() for name in question.classes)),
            _digest(*(name.encode() for name in ids.names)),
        )
        if self._path is None:
            self._record = _with_question(self._record, entry)
            return
        with locked(self._path):
            found = _read_known(self._path, self._record)
            self._record = _with_question(found, entry)
            if self._record != found:
                replace_file(self._path, _encode(self._record), mode=_FILE_MODE)


def _new_record(party: str) -> _Record:
    return _Record(_digest(party.encode()), secrets.token_bytes(_KEY_BYTES))


def _with_question(record: _Record, entry: tuple[str, str, str, str]) -> _Record:
    """`record` with the question. Raises PolicyError where it was answered otherwise before."""
    for known in record.questions:
        if known[0] != entry[0] or known == entry:
            continue
        _, epsilon, classes, _ = known
        other = "epsilon" if epsilon != entry[1] else "classes" if classes != entry[2] else "id columns"
        raise PolicyError(
            f"these labels were answered for with other {other} before",
            expected=f"epsilon {float(epsilon):g}, the same classes and the same id columns in every run",
            got=f"epsilon {float(entry[1]):g}" if other == "epsilon" else f"other {other}",
            cure="train as before: fresh flips of the same rows would add up, to the sum of both epsilons",
        )
    if entry in record.questions:
        return record
    return replace(record, questions=(*record.questions, entry))


def _check_classes(classes: IntArray, ids: Ids, question: LabelQuestion, response: RandomisedResponse) -> None:
    named = question.classes
    if len(set(named)) != len(named) or len(named) != response.class_count:
        raise InputError(
            "classes do not fit label privacy",
            expected=f"{response.class_count} distinct names",
            got=f"{len(named)} names, {len(set(named))} distinct",
        )
    if classes.shape != (len(ids),) or (classes.size and not 0 <= classes.min() <= classes.max() < len(named)):
        raise InputError(
            "class numbers refused",
            expected=f"{len(ids):,} numbers of 0 to {len(named) - 1}, one for each id",
            got=f"shape {classes.shape}, or numbers beyond",
        )


def _read_known(path: Path, known: _Record) -> _Record:
    """What `path` holds now. Raises StateError unless it holds the flips that this object was opened with."""
    record = _decode(read_file(path), path)
    if (record.party, record.key) != (known.party, known.key):
        raise _refusal(path, "the flips that this run began with", "others", "put the file back as it was")
    return record


def _read(path: Path, party: str) -> _Record:
    record = _decode(read_file(path), path)
    if record.party != _digest(party.encode()):
        cure = "give each party a state folder of its own in the site file"
        raise _refusal(path, f"flips of {party}", "another party's", cure)
    return record


def _encode(record: _Record) -> bytes:
    lines = [_TITLE, f"party {record.party}", f"key {record.key.hex()}"]
    lines += [" ".join(("question", *entry)) for entry in record.questions]
    return with_checksum("".join(f"{line}\n" for line in lines).encode())


def _decode(data: bytes, path: Path) -> _Record:
    try:
        title, party, key, *questions = (line.split(" ") for line in data.decode().split("\n")[:-2])
        record = _Record(party[1], bytes.fromhex(key[1]), tuple(map(_question_of, questions)))
        is_whole = is_digest(party[1]) and len(record.key) == _KEY_BYTES and _is_once(record.questions)
        is_whole = is_whole and " ".join(title) == _TITLE and _encode(record) == data
    except (ValueError, IndexError):
        is_whole = False
    if not is_whole:
        # The size alone: the file holds a secret.
        cure = "put it back from a copy, an old one too: under other flips earlier runs and this one would add up"
        raise _refusal(path, "the file as it was written", f"{len(data)} bytes that do not hold together", cure)
    return record


def _question_of(line: list[str]) -> tuple[str, str, str, str]:
    """Raises ValueError for a line that is no question."""
    kind, name, epsilon, classes, ids = line
    if kind != "question" or not all(map(is_digest, (name, classes, ids))) or not float(epsilon) > 0:
        raise ValueError
    return name, epsilon, classes, ids


def _is_once(questions: Collection[tuple[str, str, str, str]]) -> bool:
    return len({entry[0] for entry in questions}) == len(questions)


def _refusal(path: Path, expected: str, got: str, cure: str) -> StateError:
    return StateError(f"label flips {path} refused", expected=expected, got=got, cure=cure)


def _digest(*fields: bytes) -> str:
    return hashlib.sha256(encode_fields(*fields)).hexdigest()
