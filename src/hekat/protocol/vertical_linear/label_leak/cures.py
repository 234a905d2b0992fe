"""What a refused job can do instead: every refusal by the rules on gradients ends alike."""

from __future__ import annotations

from hekat.protocol.vertical_linear.settings import COLUMN_LEAK_ACCEPTED, LEAK_ACCEPTED, VerticalLinearSettings


def ways_out(settings: VerticalLinearSettings, *, of_guest: bool = False) -> list[str]:
    """The other form, where the job can have it, and the words of the waiver: for labels, or `of_guest` for hosts'
    columns."""
    words, key = (COLUMN_LEAK_ACCEPTED, "column_leak") if of_guest else (LEAK_ACCEPTED, "label_leak")
    # The other form takes one host only.
    ways = ['set protection.form = "shared_weights" without an arbiter'] if len(settings.hosts) == 1 else []
    return [*ways, f'or let the job say {key}.accepted = "{words}" and every site policy.{key}_waiver = true']
