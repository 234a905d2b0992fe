"""What a run leaves holds none of its secrets, however they were written; a planted one is found in every form."""

from __future__ import annotations

import base64
import io
import json
import pickle
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgpack
import numpy as np
import pytest

from hekat.protocol.secure_sum.masked import party as masked_party
from hekat.protocol.secure_sum.masked.opening import opening_schemes as ways

# So many values or bytes of a secret are looked for together: 16 coefficients within +-21 have about 38 bits or more.
PIECE = 16
RAW_TYPES = ("<i1", "<i2", "<i4", "<i8", "<f4", "<f8", ">i2", ">i4", ">i8", ">f4", ">f8")


def spellings(raw: bytes) -> Iterator[bytes]:
    """The bytes as they are and the other way round, in hex of both cases, in base64 at each of its three offsets."""
    for data in (raw, raw[::-1]):
        yield data
        yield data.hex().encode()
        yield data.hex().upper().encode()
        for skipped in range(3):
            # Only the characters that no neighbour's bits have a part in.
            whole = data[(3 - skipped) % 3 :]
            coded = base64.b64encode(whole[: len(whole) // 3 * 3])
            yield coded
            yield coded.translate(bytes.maketrans(b"+/", b"-_"))


def forms_of(secret: np.ndarray | bytes) -> tuple[set[bytes], set[bytes]]:
    """Of every piece of a secret, the bytes to look for, and the texts of its numbers, one space between."""
    values = np.frombuffer(secret, np.uint8) if isinstance(secret, bytes) else secret
    found: set[bytes] = set()
    numbers: set[bytes] = set()
    for start in {0, len(values) // 2, max(0, len(values) - PIECE)}:
        piece = values[start : start + PIECE]
        listed = [int(value) for value in piece]
        numbers |= {" ".join(map(str, listed)).encode(), " ".join(f"{value} 0" for value in listed).encode()}
        found.add(b"".join(msgpack.packb(value) for value in listed))
        if isinstance(secret, bytes):
            found.update(spellings(piece.tobytes()))
            numbers |= {str(int.from_bytes(secret, order)).encode() for order in ("little", "big") if len(secret) <= 64}
            continue
        for kind in RAW_TYPES:
            if np.array_equal(piece.astype(kind), piece):
                found.update(spellings(piece.astype(kind).tobytes()))
    return found, numbers


def contents_of(path: Path) -> Iterator[bytes]:
    """The file's bytes, and those of the files in it where it is an archive, as .npz files are."""
    data = path.read_bytes()
    yield data
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from (archive.read(name) for name in archive.namelist())


class Search:
    """Finds the first of many texts, each of 8 bytes or more, in one pass: by their first 8 bytes."""

    def __init__(self, texts: set[bytes]) -> None:
        self._texts: dict[int, list[bytes]] = {}
        for text in texts:
            self._texts.setdefault(int.from_bytes(text[:8], "little"), []).append(text)
        self._keys = np.array(sorted(self._texts), dtype=np.uint64)

    def finds(self, content: bytes) -> bool:
        for offset in range(8):
            windows = np.frombuffer(content[offset : offset + (len(content) - offset) // 8 * 8], "<u8")
            for place in np.flatnonzero(np.isin(windows, self._keys)):
                at = offset + 8 * int(place)
                if any(content.startswith(text, at) for text in self._texts[int(windows[place])]):
                    return True
        return False


def files_with(secrets: list[np.ndarray | bytes], folder: Path) -> list[str]:
    """The files under `folder` that hold a piece of one of the secrets, in any of its forms."""
    forms = [forms_of(secret) for secret in secrets]
    raw = Search(set().union(*(found for found, _ in forms)))
    numbers = Search({b" %b " % text for _, texts in forms for text in texts})
    names = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        for content in contents_of(path):
            if raw.finds(content) or numbers.finds(b" %b " % b" ".join(re.findall(rb"-?\d+", content))):
                names.append(path.name)
                break
    return names


# --- the search itself -----------------------------------------------------------------------------------------------

COEFFICIENTS = np.random.default_rng(5).integers(-4, 5, size=200).astype(np.int8)
SEED = np.random.default_rng(6).bytes(32)


def npz_of(values: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, values=values)
    return buffer.getvalue()


def array_text(values: np.ndarray) -> bytes:
    with np.printoptions(threshold=10_000):
        return repr(values).encode()


WRITTEN_VALUES = {
    "raw": lambda v: v.tobytes(),
    "raw, 16 bits": lambda v: v.astype("<i2").tobytes(),
    "raw, 32 bits": lambda v: v.astype("<i4").tobytes(),
    "raw, other byte order": lambda v: v.astype(">i4").tobytes(),
    "raw, 64 bits": lambda v: v.astype("<i8").tobytes(),
    "raw floats": lambda v: v.astype(np.float64).tobytes(),
    "hex": lambda v: v.tobytes().hex().encode(),
    "hex in capitals": lambda v: v.astype(np.int16).tobytes().hex().upper().encode(),
    "base64": lambda v: base64.b64encode(v.tobytes()),
    "base64 of 32 bits": lambda v: base64.b64encode(v.astype("<i4").tobytes()),
    "decimals in JSON": lambda v: json.dumps({"values": v.tolist()}).encode(),
    "decimals on lines": lambda v: json.dumps(v.tolist(), indent=2).encode(),
    "floats in JSON": lambda v: json.dumps(v.astype(float).tolist()).encode(),
    "decimals of numpy": array_text,
    "msgpack": lambda v: msgpack.packb({"values": v.tolist()}),
    "npy": lambda v: pickle.dumps(v),
    "npz": npz_of,
}
WRITTEN_BYTES = {
    "raw": lambda b: b,
    "reversed": lambda b: b[::-1],
    "hex": lambda b: b.hex().encode(),
    "hex in capitals, reversed": lambda b: b[::-1].hex().upper().encode(),
    **{f"base64 after {n} bytes": lambda b, n=n: base64.b64encode(bytes(n) + b) for n in range(3)},
    "base64 for addresses": lambda b: base64.urlsafe_b64encode(b),
    "decimals in JSON": lambda b: json.dumps(list(b)).encode(),
    "one number": lambda b: str(int.from_bytes(b, "little")).encode(),
    "one number, other byte order": lambda b: str(int.from_bytes(b, "big")).encode(),
    "msgpack": lambda b: msgpack.packb([b]),
    "msgpack of numbers": lambda b: msgpack.packb(list(b)),
}


@pytest.mark.parametrize("write", WRITTEN_VALUES.values(), ids=WRITTEN_VALUES)
def test_a_secret_planted_in_a_log_is_found(write, tmp_path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b'{"step": "round-1", "note": "' + write(COEFFICIENTS) + b'"}\n')
    (tmp_path / "other.jsonl").write_bytes(b'{"step": "round-1", "note": "' + write(1 - COEFFICIENTS) + b'"}\n')
    assert files_with([COEFFICIENTS], tmp_path) == ["events.jsonl"]


@pytest.mark.parametrize("write", WRITTEN_BYTES.values(), ids=WRITTEN_BYTES)
def test_a_seed_planted_in_a_log_is_found(write, tmp_path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b'{"note": "' + write(SEED) + b'"}\n')
    (tmp_path / "other.jsonl").write_bytes(b'{"note": "' + write(bytes(byte ^ 1 for byte in SEED)) + b'"}\n')
    assert files_with([bytes(32), SEED], tmp_path) == ["events.jsonl"]


@pytest.mark.parametrize("start", [0, 100, 184])
def test_a_part_of_a_secret_is_found(start, tmp_path) -> None:
    (tmp_path / "log").write_bytes(json.dumps(COEFFICIENTS[start : start + 16].tolist()).encode())
    assert files_with([COEFFICIENTS], tmp_path) == ["log"]


# --- runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_no_secret_of_a_run_in_what_it_leaves(opening, workplace, monkeypatch) -> None:
    """Neither a round's secret, nor a seed, share or key of the parties, in any file, nor in what the run says."""
    secrets: list[np.ndarray | bytes] = []

    def keep(way):
        deal = way.deal

        def deal_and_keep(self, *arguments):
            dealt = deal(self, *arguments)
            secrets.extend([dealt.secret.coefficients.copy(), *dealt.messages.values()])
            return dealt

        monkeypatch.setattr(way, "deal", deal_and_keep)

    for way in (ways.CommitteeScheme, ways.AuthorityScheme, ways.SharedKeyScheme):
        keep(way)
    begin = masked_party.MaskedAggregation.__init__

    def begin_and_keep(self, *arguments, digest_key, **others):
        secrets.append(digest_key)
        begin(self, *arguments, digest_key=digest_key, **others)

    monkeypatch.setattr(masked_party.MaskedAggregation, "__init__", begin_and_keep)
    workplace.open_by(opening)
    answer = workplace.run("--json")
    assert answer.code == 0, answer.err
    (workplace.folder / "said").write_text(answer.out + answer.err)
    assert len(secrets) >= 3 * 2
    assert files_with(secrets, workplace.folder) == []
    # The same search finds each of them in the ledger, had it been written there.
    (run,) = workplace.folders()
    ledger = run / "ledger" / "hub.jsonl"
    written = ledger.read_bytes()
    for secret in (secrets[0], secrets[-1]):
        ledger.write_bytes(written + base64.b64encode(np.asarray(secret).tobytes()) + b"\n")
        assert files_with([secret], workplace.folder) == ["hub.jsonl"]
