"""One line of a ledger: what passed, in which step, with what disclosure, chained to the line before it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any, Literal, NamedTuple, get_args

from hekat.errors import LedgerError
from hekat.wire import Disclosure
from hekat.wire.disclosure import DisclosureClass

Direction = Literal["opened", "sent", "received", "note", "closed"]

FORMAT = "hekat-ledger/1"
NO_PREVIOUS = "0" * 64
MAX_LINE_BYTES = 1 << 20

_HASH = "hash"
_CLASSES = get_args(DisclosureClass)
_DIRECTIONS = get_args(Direction)
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


class FieldRecord(NamedTuple):
    """One field of a message: its disclosure and its size, never its value."""

    name: str
    disclosure_class: str
    explanation: str
    byte_count: int

    @classmethod
    def of(cls, name: str, disclosure: Disclosure, byte_count: int) -> FieldRecord:
        """The record of a field of `byte_count` bytes; runs of white space in the explanation become one space."""
        return cls(name, disclosure.kind, _in_one_line(disclosure.detail), byte_count)


# Nearly all explanations stand in the code, one for each field of a message, and are in very many entries.
@lru_cache(maxsize=1024)
def _in_one_line(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class LedgerEntry:
    """What one line says. `payload_bytes` and `payload_sha256` are of the message's wire bytes, before sealing.

    `time` is UTC in ISO form. `facts` holds what opening and closing lines state. Hashes and ids are hex.
    """

    index: int
    time: str
    direction: Direction
    session: str
    previous: str
    peer: str = ""
    step: str = ""
    kind: str = ""
    payload_bytes: int = 0
    payload_sha256: str = ""
    fields: tuple[FieldRecord, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """SHA-256 of everything the line says, the previous line's hash included."""
        return self._line.hash

    @property
    def is_printable(self) -> bool:
        """Whether all its texts are printable: others' ledgers must not steer the terminal they are shown on."""
        return self._line.is_printable

    def to_line(self) -> bytes:
        """The line's canonical bytes, its newline included."""
        return self._line.data

    @cached_property
    def _line(self) -> Line:
        return write_line(
            self.index,
            self.time,
            self.direction,
            self.session,
            self.previous,
            self.peer,
            self.step,
            self.kind,
            self.payload_bytes,
            self.payload_sha256,
            self.fields,
            self.facts,
        )


class Line(NamedTuple):
    """The bytes of an entry, its newline included, their hash, and whether all texts are printable."""

    data: bytes
    hash: str
    is_printable: bool


def write_line(
    index: int,
    time: str,
    direction: Direction,
    session: str,
    previous: str,
    peer: str,
    step: str,
    kind: str,
    payload_bytes: int,
    payload_sha256: str,
    fields: Sequence[FieldRecord],
    facts: dict[str, str],
) -> Line:
    """The line of the `LedgerEntry` with these values: canonical JSON, the hash where its key stands in the order.

    Written here by hand: a ledger has a line for every message, and the library's encoder takes longer over one than a
    message takes to seal.
    """
    text = encode_basestring_ascii
    written = [(one.byte_count, *_field_text(one.name, one.disclosure_class, one.explanation)) for one in fields]
    described = ",".join([f'{{"bytes":{byte_count:d},{rest}}}' for byte_count, rest, _ in written])
    stated = canonical_json(facts).decode() if facts else "{}"
    before = f'{{"direction":{text(direction)},"facts":{stated},"fields":[{described}],'
    after = (
        f'"index":{index:d},"kind":{text(kind)},"payload_bytes":{payload_bytes:d},'
        f'"payload_sha256":{text(payload_sha256)},"peer":{text(peer)},"previous":{text(previous)},'
        f'"session":{text(session)},"step":{text(step)},"time":{text(time)}}}'
    )
    said = hashlib.sha256((before + after).encode()).hexdigest()
    texts = f"{time}{session}{previous}{peer}{step}{kind}{payload_sha256}{''.join(facts)}{''.join(facts.values())}"
    is_printable = texts.isprintable() and all(printable for *_, printable in written)
    return Line(f'{before}"{_HASH}":"{said}",{after}\n'.encode(), said, is_printable)


# What fields of messages are called, and how they are explained, stands in the code and is in very many entries.
@lru_cache(maxsize=1024)
def _field_text(name: str, disclosure_class: str, explanation: str) -> tuple[str, bool]:
    """(the JSON of a field but for its bytes, whether all of it is printable)."""
    text = encode_basestring_ascii
    written = f'"class":{text(disclosure_class)},"explanation":{text(explanation)},"name":{text(name)}'
    return written, f"{name}{explanation}".isprintable()


_NAMES = tuple(item.name for item in dataclasses.fields(LedgerEntry))


def entry_from_line(line: bytes, line_number: int) -> LedgerEntry:
    """The entry in a line without its newline.

    Raises:
        LedgerError: the line is not exactly what `to_line` writes, or its own hash does not hold; names the line.
    """
    content = read_json_line(line, line_number)
    stated = content.pop(_HASH, None)
    entry = _entry_of(content)
    if entry is None:
        raise damaged(line_number, "a ledger entry", "another structure")
    if stated != entry.hash:
        raise damaged(line_number, "an entry whose hash holds", "another hash: the line was edited")
    if entry.to_line() != line + b"\n":
        raise damaged(line_number, "the line as it was written", "another spelling of it")
    return entry


def read_json_line(line: bytes, line_number: int) -> dict[str, Any]:
    """The JSON object in a line. Raises LedgerError, naming the line, where there is none."""
    if len(line) > MAX_LINE_BYTES:
        raise damaged(line_number, f"at most {MAX_LINE_BYTES} bytes", f"{len(line)}")
    try:
        content = json.loads(line.decode("ascii"))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise damaged(line_number, "a line of JSON", f"{len(line)} other bytes")
    return content


def canonical_json(content: dict[str, Any]) -> bytes:
    """The one JSON spelling that is hashed and written: keys sorted, no spaces, ASCII."""
    return _ENCODER.encode(content).encode()


def damaged(line_number: int, expected: str, got: str) -> LedgerError:
    """What is raised for a line, counted from 1, that does not hold."""
    return LedgerError(
        f"the ledger does not hold at line {line_number}",
        expected=expected,
        got=got,
        cure="ask the party for the ledger as its run wrote it",
    )


def _entry_of(content: dict[str, Any]) -> LedgerEntry | None:
    if set(content) != set(_NAMES) or not isinstance(content["fields"], list):
        return None
    records = [_record_of(item) for item in content["fields"]]
    texts = ("time", "session", "previous", "peer", "step", "kind", "payload_sha256")
    facts = content["facts"]
    fits = (
        all(isinstance(content[name], str) for name in texts)
        and all(_is_count(content[name]) for name in ("index", "payload_bytes"))
        and content["direction"] in _DIRECTIONS
        and isinstance(facts, dict)
        and all(isinstance(value, str) for value in facts.values())
    )
    if not fits or None in records:
        return None
    entry = LedgerEntry(**{**content, "fields": tuple(record for record in records if record is not None)})
    return entry if entry.is_printable else None


def _record_of(item: object) -> FieldRecord | None:
    if not isinstance(item, dict) or set(item) != {"name", "class", "explanation", "bytes"}:
        return None
    fits = (
        isinstance(item["name"], str)
        and item["class"] in _CLASSES
        and isinstance(item["explanation"], str)
        and _is_count(item["bytes"])
    )
    return FieldRecord(item["name"], item["class"], item["explanation"], item["bytes"]) if fits else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
