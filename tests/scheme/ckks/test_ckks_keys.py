"""CKKS keys tell nothing, belong together, and name the extra where the library is missing."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

from hekat.errors import InputError, KeyRefusedError, WireCorruptError
from hekat.scheme.ckks import FEDML_HE, KeyPair, PrivateKey, PublicKey, generate_keys, library_name


def test_without_tenseal_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tenseal", None)
    for use in (library_name, lambda: generate_keys(FEDML_HE), lambda: PublicKey(FEDML_HE, b"")):
        with pytest.raises(InputError, match="CKKS needs TenSEAL") as caught:
            use()
        assert caught.value.cure == "pip install 'hekat[ckks]'"


@pytest.mark.long
def test_importing_hekat_loads_no_tenseal() -> None:
    code = "import sys, hekat, hekat.fedml_he, hekat.scheme.ckks; assert 'tenseal' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_secret_is_shown_pickled_or_changed(keys: KeyPair) -> None:
    assert library_name().startswith("TenSEAL ")
    for key in keys:
        assert key.__class__.__name__ in repr(key)
        assert str(keys.private.stream[:40]) not in repr(key)
        assert copy.deepcopy(key) is key
        with pytest.raises(AttributeError, match="does not change"):
            key.public = None
    with pytest.raises(KeyRefusedError, match="not pickled"):
        pickle.dumps(keys.private)
    assert pickle.loads(pickle.dumps(keys.public)) == keys.public


def test_keys_of_two_pairs_do_not_belong_together(keys: KeyPair) -> None:
    other = generate_keys(FEDML_HE)
    assert keys.public != other.public
    with pytest.raises(KeyRefusedError, match="does not belong to its public key"):
        PrivateKey(keys.public, other.private.stream)


def test_bytes_that_are_no_key_are_refused(keys: KeyPair, small_keys: KeyPair) -> None:
    for stream in (b"", b"no key", keys.public.stream[:-1], keys.private.stream, small_keys.public.stream):
        with pytest.raises(WireCorruptError, match="a CKKS public key does not hold"):
            PublicKey(FEDML_HE, stream)
    with pytest.raises(WireCorruptError, match="a CKKS private key does not hold"):
        PrivateKey(keys.public, small_keys.private.stream)
