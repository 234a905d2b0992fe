"""What a refused job can do instead: every refusal by the rules on gradients ends alike."""

from __future__ import annotations

from dataclasses import replace

from hekat.errors import JobError
from hekat.protocol.vertical_linear.settings import (
    COLUMN_LEAK_ACCEPTED,
    LEAK_ACCEPTED,
    PROTECTIONS_OF_FORMS,
    VerticalLinearSettings,
)


def ways_out(settings: VerticalLinearSettings, *, of_guest: bool = False) -> list[str]:
    """The other form, where the job can have it, and the words of the waiver: for labels, or `of_guest` for hosts'
    columns."""
    words, key = (COLUMN_LEAK_ACCEPTED, "column_leak") if of_guest else (LEAK_ACCEPTED, "label_leak")
    other = in_shared_weights(settings)
    ways = [] if other is None else [say_shared_weights(settings, other)]
    return [*ways, f'or let the job say {key}.accepted = "{words}" and every site policy.{key}_waiver = true']


def in_shared_weights(settings: VerticalLinearSettings) -> VerticalLinearSettings | None:
    """The job in form `shared_weights`, which opens no gradient; None where it cannot have that form."""
    known = PROTECTIONS_OF_FORMS["shared_weights"]
    protection = settings.protection if settings.protection in known else "paillier"
    try:
        return replace(settings, form="shared_weights", arbiter=None, protection=protection)
    except JobError:
        return None


def say_shared_weights(settings: VerticalLinearSettings, other: VerticalLinearSettings) -> str:
    """How the job comes to its other form."""
    kind = "" if other.protection == settings.protection else f' and protection.kind = "{other.protection}"'
    return f'set protection.form = "shared_weights"{kind} without an arbiter'
