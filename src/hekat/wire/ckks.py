"""Wire bytes of CKKS keys and ciphertexts: the library's own streams, under the key's fingerprint, with what is public.

A key carries its parameters, which are checked before anything else is read; ciphertexts are read under a public key.
"""

from __future__ import annotations

from typing import Any

from hekat.errors import BoundError, InputError, KeyRefusedError, WireCorruptError
from hekat.scheme.ckks import Ciphertexts, CkksParameters, PrivateKey, PublicKey, ciphertexts_from_streams
from hekat.scheme.ckks.seal import load_library
from hekat.wire.kinds import Kind, ReadingContext, register
from hekat.wire.residues import check_fingerprint, check_names

_COUNTS = ("values", "addends", "roundings")
_CIPHERTEXT_NAMES = ("key", *_COUNTS, "gain", "ciphertexts")


def _public_key_items(key: PublicKey) -> dict[str, Any]:
    return {"parameters": key.parameters.to_items(), "key": key.stream}


def _public_key(items: Any, context: ReadingContext) -> PublicKey:
    check_names(items, "a CKKS public key", ("parameters", "key"))
    parameters, stream = CkksParameters.from_items(items["parameters"]), _bytes(items["key"], "a CKKS public key")
    load_library()
    try:
        return PublicKey(parameters, stream)
    except InputError as error:
        # The library is there and refuses the parameters.
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


def _private_key_items(key: PrivateKey) -> dict[str, Any]:
    return {"public": _public_key_items(key.public), "key": key.stream}


def _private_key(items: Any, context: ReadingContext) -> PrivateKey:
    check_names(items, "a CKKS private key", ("public", "key"))
    public = _public_key(items["public"], context)
    try:
        return PrivateKey(public, _bytes(items["key"], "a CKKS private key"))
    except KeyRefusedError as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


def _ciphertexts_items(ciphertexts: Ciphertexts) -> dict[str, Any]:
    return {
        "key": ciphertexts.key.fingerprint,
        "values": ciphertexts.value_count,
        "addends": ciphertexts.addend_count,
        "roundings": ciphertexts.rounding_count,
        "gain": ciphertexts.gain,
        "ciphertexts": ciphertexts.to_streams(),
    }


def _ciphertexts(items: Any, context: ReadingContext) -> Ciphertexts:
    key = context.public_key
    if not isinstance(key, PublicKey):
        raise InputError(
            "CKKS ciphertexts cannot be read without their public key",
            expected="from_bytes(data, Ciphertexts, public_key=...)",
            got="no public key" if key is None else "a key of another scheme",
        )
    check_names(items, "CKKS ciphertexts", _CIPHERTEXT_NAMES)
    check_fingerprint(items["key"], key.fingerprint, "CKKS ciphertexts")
    streams = items["ciphertexts"]
    counted = all(type(items[name]) is int for name in _COUNTS) and type(items["gain"]) is float
    if not counted or not isinstance(streams, list) or not all(isinstance(stream, bytes) for stream in streams):
        raise WireCorruptError("CKKS ciphertexts with other parts", expected="counts, a gain and a list of bytes")
    values, addends, roundings = (items[name] for name in _COUNTS)
    try:
        return ciphertexts_from_streams(key, values, streams, addends, items["gain"], roundings)
    except (InputError, BoundError) as error:
        raise WireCorruptError(error.what, expected=error.expected, got=error.got) from None


def _bytes(item: Any, what: str) -> bytes:
    if not isinstance(item, bytes):
        raise WireCorruptError(f"{what} with other parts", expected="bytes")
    return item


register(Kind("ckks/public-key", 1, PublicKey, _public_key_items, _public_key))
register(Kind("ckks/private-key", 1, PrivateKey, _private_key_items, _private_key))
register(Kind("ckks/ciphertexts", 1, Ciphertexts, _ciphertexts_items, _ciphertexts))
