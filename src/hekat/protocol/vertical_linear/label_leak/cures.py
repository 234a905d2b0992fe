"""What a job that gradients forbid can do instead: the same end of every refusal by the rules on gradients."""

from __future__ import annotations

from hekat.protocol.vertical_linear.settings import COLUMN_LEAK_ACCEPTED, LEAK_ACCEPTED, VerticalLinearSettings


def ways_out(settings: VerticalLinearSettings, *, of_guest: bool = False) -> list[str]:
    """The other form where it can be had, and the words of the waiver: of labels, or of hosts' columns at the guest."""
    words, key = (COLUMN_LEAK_ACCEPTED, "column_leak") if of_guest else (LEAK_ACCEPTED, "label_leak")
    # The other form is for one host.
    ways = ['set protection.form = "shared_weights" without an arbiter'] if len(settings.hosts) == 1 else []
    return [*ways, f'or let the job say {key}.accepted = "{words}" and every site policy.{key}_waiver = true']
