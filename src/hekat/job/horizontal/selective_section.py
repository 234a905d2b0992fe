"""The keys of [protection] by which a job masks only a part of every update."""

from __future__ import annotations

from hekat.errors import JobError
from hekat.job.section import Section
from hekat.privacy.mask_rules import MaskRules
from hekat.protocol.horizontal.selective_settings import SelectiveSettings

_OTHERS = ("map", "map_rows", "always", "never", "groups", "expose_embeddings", "refresh")


def read_selective(protection: Section) -> SelectiveSettings | None:
    """What the section says of it; None where all values are masked. Raises JobError and InputError.

    Keys of the section that belong to others are left in it.
    """
    others = [key for key in _OTHERS if protection.has(key)]
    masked = protection.take("masked", float, 1.0)
    if masked == 1.0:
        if others:
            raise JobError(
                f"protection.{others[0]} has no effect",
                expected="protection.masked below 1: the part of every update that is masked",
                got="all values masked",
                cure=f"remove protection.{others[0]}, or say masked = 0.5 to send half of the values in the clear",
            )
        return None
    always, never = protection.take_optional_texts("always"), protection.take_optional_texts("never")
    groups = protection.take("groups", str, "values")
    expose_embeddings = protection.take("expose_embeddings", bool, False)
    rules = MaskRules(masked, always or (), never or (), groups, expose_embeddings)  # type: ignore[arg-type]  # checked
    return SelectiveSettings(
        rules,
        mode=protection.take("map", str, "random"),  # type: ignore[arg-type]  # checked by the settings
        row_count=protection.take("map_rows", int, 256),
        refresh=protection.take("refresh", int, 0),
    )
