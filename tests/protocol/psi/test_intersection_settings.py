"""Settings of an intersection: what they take to mean, and what they refuse with its cure."""

from __future__ import annotations

import pytest

from hekat.errors import InputError
from hekat.protocol.psi.settings import IntersectionSettings


def test_everybody_learns_by_default() -> None:
    settings = IntersectionSettings("guest", ["bank", "shop"])
    assert settings.parties == settings.learners == ("guest", "bank", "shop")
    assert not settings.roles_exchanged


def test_roles_are_exchanged_where_only_the_host_learns() -> None:
    assert IntersectionSettings("guest", ("bank",), learns=("bank",)).roles_exchanged
    assert not IntersectionSettings("guest", ("bank",), learns=("guest",)).roles_exchanged


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hosts": ()}, "hosts refused"),
        ({"hosts": ("guest",)}, "named twice"),
        ({"hosts": ("bank", "bank")}, "named twice"),
        ({"kind": "edch"}, "did you mean 'ecdh'"),
        ({"kind": "bloom"}, "'ecdh' or 'rsa_blind'"),
        ({"kind": "rsa_blind", "cardinality_only": True}, "cardinality_only refused"),
        ({"hosts": ("bank", "shop"), "cardinality_only": True}, "cardinality_only refused"),
        ({"kind": "rsa_blind", "key_bits": 2048}, "an even number of bits"),
        ({"kind": "rsa_blind", "key_bits": 3073}, "an even number of bits"),
        ({"kind": "rsa_blind", "key_bits": 3072.0}, "an even number of bits"),
        ({"key_bits": 4096}, "which alone makes a key"),
        ({"learns": ()}, "nobody"),
        ({"learns": ("shop",)}, "'shop'"),
        ({"learns": ("bank", "bank")}, "a name twice"),
        ({"hosts": ("bank", "shop"), "learns": ("bank", "shop")}, "'guest' among them"),
    ],
)
def test_refusals(changes: dict, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        IntersectionSettings(**{"guest": "guest", "hosts": ("bank",)} | changes)
    assert caught.value.cure or "named twice" in words
