"""The section [protection] of jobs whose parties hold rows: how sums are protected, and who opens them."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.errors import JobError
from hekat.job.section import Section
from hekat.protocol.secure_sum.settings import PROTECTIONS, Opening, Protection

_KEYS_OF_PROTECTIONS = {"key_bits": "paillier", "opening": "lattice", "authority": "lattice", "check_sum": "lattice"}


@dataclass(frozen=True)
class ProtectionSection:
    """What the section says; the settings of the sums check `opening` and the rest."""

    kind: Protection
    opening: Opening
    authority: str | None
    key_bits: int
    check_sum: bool


def read_protection(section: Section) -> ProtectionSection:
    """The section. Raises JobError for a kind that is none, and for a key of another protection."""
    kind = section.take("kind", str, "lattice")
    _check_belongs(section, kind)
    found = ProtectionSection(
        kind=kind,  # type: ignore[arg-type]  # checked above
        opening=section.take("opening", str, "committee"),  # type: ignore[arg-type]  # checked by SumSettings
        authority=section.take_optional("authority", str),
        key_bits=section.take("key_bits", int, 3072),
        check_sum=section.take("check_sum", bool, False),
    )
    section.finish()
    return found


def _check_belongs(protection: Section, kind: str) -> None:
    """Raise JobError for a key that is another protection's, or for a kind that is none."""
    if kind not in PROTECTIONS:
        raise JobError(
            "protection.kind is no protection",
            expected=" or ".join(repr(known) for known in PROTECTIONS),
            got=repr(kind),
            cure="choose one of them",
        )
    for key in protection.remaining():
        owner = _KEYS_OF_PROTECTIONS.get(key, kind)
        if owner != kind:
            raise JobError(
                f"protection.{key} belongs to another protection",
                expected=f"protection.kind = {owner!r}",
                got=f"protection.kind = {kind!r}",
                cure=f"remove protection.{key}, or say kind = {owner!r}",
            )
