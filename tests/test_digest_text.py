"""A digest in a file is 64 small hexadecimal digits and nothing else."""

from __future__ import annotations

import hashlib

import pytest

from hekat.digest_text import is_digest

DIGEST = hashlib.sha256(b"").hexdigest()


def test_what_hashlib_writes_is_one() -> None:
    assert is_digest(DIGEST)


@pytest.mark.parametrize(
    "text",
    ["", DIGEST[1:], DIGEST + "0", DIGEST.upper(), DIGEST + "\n", " " + DIGEST[1:], "g" + DIGEST[1:], "\uff10" * 64],
)
def test_what_has_another_length_or_other_signs_is_none(text: str) -> None:
    assert not is_digest(text)
