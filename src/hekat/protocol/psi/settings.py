"""What the parties of a set intersection agree on before it begins, checked when it is made."""

from __future__ import annotations

import difflib
import hashlib
import json
from dataclasses import dataclass
from typing import Final

from hekat.channel.channel import check_party_names
from hekat.errors import InputError

KINDS: Final = ("ecdh", "rsa_blind")
DEFAULT_KEY_BITS: Final = 3072
MAX_KEY_BITS: Final = 8192
_DIGEST_DOMAIN: Final = b"hekat/psi/settings/1"


@dataclass(frozen=True)
class IntersectionSettings:
    """Which parties compare ids, by which protocol, and who learns what.

    Args:
        guest: The party that compares its set with the set of every host, and so learns what it has in common with
            each of them.
        hosts: One host or more.
        kind: `"ecdh"`: Diffie-Hellman on Curve25519; `"rsa_blind"`: blind signatures of the host.
        learns: The learners: who learns which rows are common to all; None: every party. With one host and
            `learns=(host,)` the two exchange their roles, and the guest learns nothing.
        cardinality_only: Whether learners learn only how many rows are common; for `ecdh` and one host.
        key_bits: The size of the host's key of each run, for `rsa_blind`.
        allow_single: Whether a party may ask with a set of one id, which is to ask about one person.

    Raises:
        InputError: names, kind, learners or key_bits that cannot be used together.
    """

    guest: str
    hosts: tuple[str, ...]
    kind: str = "ecdh"
    learns: tuple[str, ...] | None = None
    cardinality_only: bool = False
    key_bits: int = DEFAULT_KEY_BITS
    allow_single: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        if self.learns is not None:
            object.__setattr__(self, "learns", tuple(self.learns))
        _check_parties(self)
        _check_kind(self)
        _check_learns(self)
        if self.cardinality_only and len(self.hosts) > 1:
            _refuse(
                "intersection.cardinality_only",
                "one host, since the guest counts with each of them",
                f"{len(self.hosts)} hosts",
            )

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts."""
        return (self.guest, *self.hosts)

    @property
    def learners(self) -> tuple[str, ...]:
        """The parties that learn the result, in the order of `parties`."""
        return self.parties if self.learns is None else tuple(name for name in self.parties if name in self.learns)

    @property
    def roles_exchanged(self) -> bool:
        """Whether the only host compares in the guest's place, so that the guest learns nothing."""
        return self.guest not in self.learners

    def digest(self) -> bytes:
        """SHA-256 of all that must be the same at every party; `allow_single` is each party's own."""
        agreed = (self.guest, self.hosts, self.kind, self.learners, self.cardinality_only, self.key_bits)
        return hashlib.sha256(_DIGEST_DOMAIN + json.dumps(agreed).encode()).digest()


def _check_parties(settings: IntersectionSettings) -> None:
    check_party_names(settings.parties)
    if not settings.hosts:
        _refuse("hosts", "at least one host to compare with", "none")


def _check_kind(settings: IntersectionSettings) -> None:
    if settings.kind not in KINDS:
        close = difflib.get_close_matches(str(settings.kind), KINDS, n=1, cutoff=0.4)
        _refuse(
            "intersection.kind",
            " or ".join(map(repr, KINDS)),
            repr(settings.kind),
            f"did you mean {close[0]!r}?" if close else "",
        )
    if settings.kind == "rsa_blind" and settings.cardinality_only:
        _refuse(
            "intersection.cardinality_only",
            "kind 'ecdh': what is signed blindly is mapped to its id again",
            "kind 'rsa_blind'",
        )
    if settings.kind == "ecdh" and settings.key_bits != DEFAULT_KEY_BITS:
        cure = "leave intersection.key_bits out, or set intersection.kind to 'rsa_blind'"
        _refuse(
            "intersection.key_bits", "kind 'rsa_blind', which alone makes a key of so many bits", "kind 'ecdh'", cure
        )
    bits = settings.key_bits
    if isinstance(bits, bool) or not isinstance(bits, int) or not DEFAULT_KEY_BITS <= bits <= MAX_KEY_BITS or bits % 2:
        _refuse(
            "intersection.key_bits", f"an even number of bits from {DEFAULT_KEY_BITS} to {MAX_KEY_BITS}", repr(bits)
        )


def _check_learns(settings: IntersectionSettings) -> None:
    if settings.learns is None:
        return
    unknown = [name for name in settings.learns if name not in settings.parties]
    if unknown or not settings.learns or len(set(settings.learns)) != len(settings.learns):
        got = f"{unknown[0]!r}" if unknown else "nobody" if not settings.learns else "a name twice"
        _refuse("intersection.learns", f"names among {', '.join(settings.parties)}", got)
    if settings.roles_exchanged and len(settings.hosts) > 1:
        _refuse(
            "intersection.learns", f"{settings.guest!r} among them, since it compares with every host", "hosts only"
        )


def _refuse(name: str, expected: str, got: str, cure: str = "") -> None:
    """Raise InputError for what a job file calls `name`."""
    raise InputError(f"setting {name} refused", expected=expected, got=got, cure=cure or f"change {name}")
