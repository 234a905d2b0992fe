"""The ledgers in a run's folder: NAME.jsonl each, or NAME.jsonl.gz where a run of many roles is over."""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress
from pathlib import Path

from hekat.atomic_file import replace_file
from hekat.errors import LedgerError, StateError

LEDGER_SUFFIX = ".jsonl"
PACKED_SUFFIX = ".jsonl.gz"
MOST_UNPACKED = 16
"""A run of more roles on one machine compresses its ledgers at its end: each has the messages with every other role."""
# Half of a line's bytes are hashes, which do not shrink: ledgers come to a seventh of their size, never to this part.
_MOST_EXPANSION = 64
_PIECE_BYTES = 1 << 20


def pack_ledgers(folder: Path) -> None:
    """Compress every ledger in `folder` where there are more than MOST_UNPACKED; each is whole at every moment.

    One that the disk does not take stays as it is: both forms hold the same, and `read_ledger` reads both.
    """
    ledgers = sorted(folder.glob(f"*{LEDGER_SUFFIX}"))
    if len(ledgers) <= MOST_UNPACKED:
        return
    with suppress(OSError, StateError):
        for path in ledgers:
            replace_file(path.with_name(f"{path.name}.gz"), gzip.compress(path.read_bytes(), 6, mtime=0))
            path.unlink()


def find_ledgers(folder: Path) -> list[Path]:
    """The file of every ledger in `folder`, by name; one that lies there in both forms counts once."""
    found = {name_of_ledger(path): path for path in folder.glob(f"*{PACKED_SUFFIX}")}
    found |= {name_of_ledger(path): path for path in folder.glob(f"*{LEDGER_SUFFIX}")}
    return [found[name] for name in sorted(found)]


def name_of_ledger(path: Path) -> str:
    """The role's name in the name of its ledger file."""
    return path.name.removesuffix(".gz").removesuffix(LEDGER_SUFFIX)


def read_ledger(path: Path) -> bytes:
    """The lines of the ledger at `path`; of NAME.jsonl also where NAME.jsonl.gz alone is there.

    Raises OSError; LedgerError for a compressed file that is damaged, or holds far more than any ledger's.
    """
    packed = path.with_name(f"{path.name}.gz")
    if path.suffix != ".gz" and (path.exists() or not packed.exists()):
        return path.read_bytes()
    data = (path if path.suffix == ".gz" else packed).read_bytes()
    try:
        return _expand(data)
    except zlib.error:
        raise LedgerError(
            f"the ledger {path} does not hold",
            expected="a ledger as the run compressed it",
            got=f"{len(data)} other bytes",
            cure="ask the party for the ledger as its run wrote it",
        ) from None


def _expand(data: bytes) -> bytes:
    """What gzip made of it. Raises zlib.error for other bytes, or for more than `_MOST_EXPANSION` times their size."""
    most = _PIECE_BYTES + _MOST_EXPANSION * len(data)
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    expanded = reader.decompress(data, most)
    if not reader.eof or reader.unused_data:
        raise zlib.error("cut off, too large, or followed by more")
    return expanded
