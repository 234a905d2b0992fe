"""Named arrays and JSON metadata as one .npz, without pickle: plain NumPy opens it, and a digest shows any damage.

Beside the arrays it holds the text array "hekat": JSON with "format", "kind", "metadata" and "digest", the SHA-256
over kind, metadata and every array's name, dtype, shape and bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError, StateError

ARRAY_FILE_FORMAT = 1
HEADER = "hekat"

Array = npt.NDArray[Any]


def check_array_name(name: str) -> None:
    """Raise InputError for a name that no array in such a file can have."""
    # The header or savez's own arguments use these names, or a zip would change them.
    if name in ("", HEADER, "file", "allow_pickle") or name.endswith(".npy") or "\0" in name:
        raise InputError("an array has a name that cannot be saved", expected="another name", got=repr(name))


def encode_arrays(kind: str, metadata: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The bytes of an .npz. Raises InputError for arrays that are not numbers, names it cannot hold, or metadata that
    is not JSON."""
    canonical: dict[str, Array] = {}
    for name, values in arrays.items():
        if values.dtype.kind not in "biuf":
            raise InputError(f"array {name} cannot be saved", expected="numbers", got=f"an array of {values.dtype}")
        check_array_name(name)
        canonical[name] = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).reshape(values.shape)
    metadata_text = _to_json(metadata)
    header = {
        "format": ARRAY_FILE_FORMAT,
        "kind": kind,
        "metadata": metadata_text,
        "digest": _digest(kind, metadata_text, canonical),
    }
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{HEADER: np.array(_to_json(header))}, **canonical)
    return buffer.getvalue()


def decode_arrays(data: bytes, kind: str, where: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """(metadata, arrays) of bytes made by `encode_arrays` with the same `kind`; `where` is for messages.

    Raises StateError for damaged bytes, another format or another kind.
    """
    try:
        members = _read_members(data)
        header = json.loads(str(members.pop(HEADER)))
        version, found_kind = header["format"], header["kind"]
    except Exception as error:  # damage can raise almost any exception anywhere while zip, npy or JSON is read
        raise _damaged(where) from error
    if version != ARRAY_FILE_FORMAT:
        raise StateError(
            f"{where} has another format version",
            expected=f"version {ARRAY_FILE_FORMAT}",
            got=f"version {version}",
            cure="open it with the release of Hekat that wrote it, or a newer one",
        )
    if found_kind != kind:
        raise StateError(
            f"{where} is of another kind", expected=f"a {kind}", got=f"a {found_kind}", cure="check the path"
        )
    metadata_text = header.get("metadata")
    if not isinstance(metadata_text, str) or header.get("digest") != _digest(kind, metadata_text, members):
        raise _damaged(where)
    try:
        metadata = json.loads(metadata_text)
    except (ValueError, RecursionError) as error:
        raise _damaged(where) from error
    if not isinstance(metadata, dict):
        raise _damaged(where)
    return metadata, members


def _read_members(data: bytes) -> dict[str, Array]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        # Nothing here is compressed, so a declared size beyond the file's own size is damage, not a large array.
        if any(info.compress_type != zipfile.ZIP_STORED or info.file_size > len(data) for info in archive.infolist()):
            raise ValueError("a member that savez does not write")
    with np.load(io.BytesIO(data), allow_pickle=False) as loaded:
        members = {name: loaded[name] for name in loaded.files}
    if not all(isinstance(values, np.ndarray) for values in members.values()):
        raise ValueError("a member that is no array")
    return members


def _digest(kind: str, metadata_text: str, arrays: Mapping[str, Array]) -> str:
    digest = hashlib.sha256()
    parts: list[bytes | memoryview] = [kind.encode(), metadata_text.encode()]
    for name in sorted(arrays):
        values = arrays[name]
        # Large arrays are read where they lie: a copy takes longer than the digest.
        content = np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
        parts += [name.encode(), values.dtype.str.encode(), str(values.shape).encode(), content]
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _to_json(value: Mapping[str, Any]) -> str:
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InputError(
            "metadata cannot be saved", expected="texts, numbers, lists and tables", got=str(error)
        ) from None


def _damaged(where: str) -> StateError:
    return StateError(
        f"{where} is damaged or was not written by Hekat",
        expected="the bytes as they were written",
        got="bytes that do not hold together",
        cure="restore it from a copy, or begin anew without it",
    )
