"""The full-domain hash: its exact definition, what it is bound to, and what it refuses."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.rsa import PublicKey, hash_to_group

ITEMS = [b"", b"a", b"b", "größe".encode(), bytes(1000), b"a" * 135, b"a" * 136]


def by_definition(key: PublicKey, item: bytes, context: bytes = b"", domain: bytes = b"hekat/rsa/full-domain-hash/1"):
    """As the file's head defines it, in Python integers."""
    n = key.n.to_bytes((key.n.bit_length() + 7) // 8, "big")
    encoded = key.e.to_bytes(8, "big") + n
    seed = domain + len(encoded).to_bytes(8, "big") + encoded + len(context).to_bytes(8, "big") + context + item
    width = (key.n.bit_length() + 128 + 7) // 8
    return int.from_bytes(hashlib.shake_256(seed).digest(width), "little") % key.n


def test_is_what_its_definition_says(setting):
    for context in (b"", b"run 7", b"hekat"):
        hashed = hash_to_group(setting.public, ITEMS, context=context, engine=setting.engine)
        assert hashed.shape == (len(ITEMS),)
        assert setting.integers(hashed) == [by_definition(setting.public, item, context) for item in ITEMS]


@pytest.mark.parametrize("n", [(2**67 - 1044189) * (2**67 - 1043601), (2**64 - 1042097) * (2**64 - 1036229)])
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_sizes_that_are_no_whole_number_of_limbs(n, engine):
    key = PublicKey(n)
    hashed = hash_to_group(key, ITEMS, engine=get_engine(engine))
    found = [int.from_bytes(row.tobytes(), "little") for row in hashed.to_limbs()]
    assert found == [by_definition(key, item) for item in ITEMS]


def test_stays_the_same_between_releases(rsa_keys):
    """Parties of different releases meet only if this value never changes."""
    hashed = hash_to_group(rsa_keys(2048).public, [b"patient 1"], context=b"run", engine=get_engine("reference"))
    digest = hashlib.sha256(hashed.to_limbs().astype("<u8").tobytes()).hexdigest()
    assert digest == "5664c219f3a1955ffd28e51d475236b9bfd9e1d75bd5a72876528f1295fa21f6"


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100, 4096, 4097])
def test_batches_of_any_size(small, count):
    items = [index.to_bytes(4, "big") for index in range(count)]
    found = small.integers(hash_to_group(small.public, items, engine=small.engine))
    assert len(set(found)) == len(found) == count
    assert found[-1:] == [by_definition(small.public, item) for item in items[-1:]]


@settings(max_examples=50, deadline=None)
@given(text=st.binary(max_size=30), first=st.integers(0, 30), second=st.integers(0, 30))
def test_context_and_item_are_framed(rsa_keys, text, first, second):
    """Moving the border between context and item gives another hash."""
    key, engine = rsa_keys(512).public, get_engine("reference")
    first, second = min(first, len(text)), min(second, len(text))
    one, other = (hash_to_group(key, [text[at:]], context=text[:at], engine=engine) for at in (first, second))
    assert (one.to_limbs() == other.to_limbs()).all() == (first == second)


def test_is_bound_to_the_key_and_the_context(rsa_keys):
    engine = get_engine("reference")
    keys = [rsa_keys(512).public, rsa_keys(512, 1).public, PublicKey(rsa_keys(512).public.n, 65539)]
    found = {
        hash_to_group(key, [b"x"], context=context, engine=engine).to_limbs().tobytes()
        for key in keys
        for context in (b"", b"a")
    }
    assert len(found) == 6


def test_what_is_no_list_of_bytes_is_refused(small, paillier_keys):
    for items in (b"bytes", "text", 7, None, {b"a"}, (item for item in [b"a"])):
        with pytest.raises(InputError, match="list of bytes"):
            hash_to_group(small.public, items)
    for items in ([b"a", "secret text"], [1], [bytearray(b"a")], [None]):
        with pytest.raises(InputError, match="bytes only") as refusal:
            hash_to_group(small.public, items)
        assert "secret" not in str(refusal.value)
    with pytest.raises(InputError, match="context refused"):
        hash_to_group(small.public, [b"a"], context="run")
    for no_key in (small.keys.private, paillier_keys(512).public, None):
        with pytest.raises(KeyRefusedError, match="no RSA public key"):
            hash_to_group(no_key, [b"a"])
