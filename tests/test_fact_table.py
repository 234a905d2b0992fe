"""What arrays and keys show in a notebook: public facts, escaped, never a secret, ciphertext or hidden value."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import hekat
from hekat import rsa
from hekat.channel import PartyKey
from hekat.fact_table import fact_table
from hekat.scheme.lattice import choose_parameters, generate_secret

MOST_CHARACTERS = 1500


def cells(html: str) -> list[str]:
    """The texts of the HTML, in order; every element must be closed."""

    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.texts: list[str] = []
            self.open: list[str] = []

        def handle_starttag(self, tag, attrs) -> None:
            self.open.append(tag)

        def handle_endtag(self, tag) -> None:
            assert self.open.pop() == tag

        def handle_data(self, data) -> None:
            self.texts.append(data)

    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert len(html) < MOST_CHARACTERS
    return reader.texts


def test_texts_are_escaped() -> None:
    hostile = '<script>alert("x")</script>&'
    html = fact_table(hostile, [(hostile, hostile)])
    assert "<script" not in html
    assert cells(html) == [hostile] * 3


def test_an_encrypted_array_shows_what_everybody_may_see(paillier_keys) -> None:
    keys = paillier_keys[2048][0]
    values = np.array([[1.25, 31.5], [-7.75, 2.0]])
    array = hekat.array(values, key=keys.public, bound=64)
    shown = cells(array._repr_html_())
    assert "(2, 2)" in shown
    assert f"2048 bits, {keys.public.fingerprint[:8]}" in shown
    text = " ".join(shown)
    assert not any(str(value) in text for value in values.ravel())
    packed = hekat.array(np.arange(8), key=keys.public, pack=4)
    assert "packed" in cells(packed._repr_html_())


def test_an_array_of_integers_shows_as_much_as_its_repr() -> None:
    array = hekat.bigint.array([*range(5), 2**300, 99999])
    shown = cells(array._repr_html_())
    assert "(7,)" in shown
    assert not any("99999" in text for text in shown)
    assert shown[-1] == repr(array).split("[")[1].split("]")[0]


@pytest.mark.parametrize("which", ["public", "private"])
def test_a_paillier_key_shows_size_and_fingerprint(which, paillier_keys) -> None:
    pair = paillier_keys[2048][0]
    html = getattr(pair, which)._repr_html_()
    assert {"Paillier", "2048 bits", pair.public.fingerprint} <= set(cells(html))
    for secret in (pair.private.p, pair.private.q):
        assert str(secret) not in html
        assert f"{secret:x}" not in html


def test_an_rsa_key_shows_no_primes() -> None:
    pair = rsa.generate_keys(2048)
    for key in pair:
        html = key._repr_html_()
        assert {"RSA", "2048 bits", pair.public.fingerprint} <= set(cells(html))
        assert str(pair.private.p) not in html


def test_a_secret_of_one_upload_shows_the_name_of_its_set() -> None:
    secret = generate_secret(choose_parameters(16, 3))
    assert cells(secret._repr_html_())[-1] == repr(secret)


def test_a_party_key_shows_its_fingerprint() -> None:
    key = PartyKey.generate()
    for shown in (key, key.public):
        assert key.fingerprint in cells(shown._repr_html_())
    assert key._private.private_bytes_raw().hex() not in key._repr_html_()
