"""The arguments of `federate_split`, each of its type and range before anything starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hekat.errors import InputError, JobError
from hekat.own_loop.arguments import as_names, as_whole_number
from hekat.protocol.vertical_network.network_settings import MOST_WIDTH
from hekat.protocol.vertical_network.settings import LABELS_ACCEPTED, ROTATION_ACCEPTED, SLOPES_ACCEPTED

CALLED = "hekat.federate_split"
LOOP_BOTTOMS = ("frozen", "trained")

_ARGUMENTS: dict[str, str] = {
    r"column_leak\.accepted": "column_leak_accepted",
    r"label_leak\.accepted": "label_leak_accepted",
    r"slope_leak\.accepted": "slope_leak_accepted",
    r"protection\.kind": "protection",
    r"protection\.host_bottom": "host_bottom",
    r"(?:network|training)\.(\w+)": r"\1",
    r" in the job, and at each host's site": "",
    r"correct (\w+) in the job": r"change \1",
    r"of hekat\.federate\b(?!_)": f"of {CALLED}",
}


@contextmanager
def named_arguments() -> Iterator[None]:
    """Refusals of keys of a job become refusals of the arguments that stand for them."""
    try:
        yield
    except (InputError, JobError) as error:
        error.reword(_as_argument)
        raise


def as_roles(hosts: Mapping[str, Callable[[Any], Any]], guest: str) -> dict[str, Callable[[Any], Any]]:
    """The code of each host by name. Raises InputError where there is none, or a name that is not one."""
    if not isinstance(hosts, Mapping):
        _refuse("train_at_hosts", "a mapping of each host's name to its function", type(hosts).__name__, "pass a dict")
    names = as_names(list(hosts))
    if guest in names:
        _refuse("guest", "another name than the hosts'", repr(guest), "rename the guest, or the host")
    return {name: hosts[name] for name in names}


def as_widths(widths: int | Mapping[str, int], hosts: tuple[str, ...]) -> dict[str, int]:
    """m by host. Raises InputError for hosts without a width, other names and widths that cannot be."""
    found = dict(widths) if isinstance(widths, Mapping) else dict.fromkeys(hosts, widths)
    if set(found) != set(hosts):
        _refuse(
            "host_widths", f"a width for each of {', '.join(hosts)}", f"{', '.join(map(str, found))}"[:60], "name all"
        )
    for host, width in found.items():
        if not 1 <= as_whole_number("host_widths", width) <= MOST_WIDTH:
            _refuse(
                "host_widths", f"1 to {MOST_WIDTH} for each host", f"{width!r} for {host}"[:60], "change the bottom"
            )
    return found


def check_bottom(host_bottom: str) -> None:
    """Raise InputError for what is no bottom of a loop of one's own."""
    if host_bottom not in LOOP_BOTTOMS:
        _refuse(
            "host_bottom",
            " or ".join(map(repr, LOOP_BOTTOMS)),
            repr(host_bottom)[:60],
            "use 'frozen', and give columns themselves as features where there is no bottom",
        )


def check_waivers(column_leak: str | None, label_leak: str | None, slope_leak: str | None, host_bottom: str) -> None:
    """Raise InputError unless what opens is accepted in words."""
    if column_leak != ROTATION_ACCEPTED:
        _refuse(
            "column_leak_accepted",
            f"the words {ROTATION_ACCEPTED!r}, where each host says so: z opens to the guest",
            "no such words",
            "write them, or train a model that opens no outputs (protocol vertical_linear)",
        )
    if host_bottom == "trained" and label_leak != LABELS_ACCEPTED:
        _refuse(
            "label_leak_accepted",
            f"the words {LABELS_ACCEPTED!r}, where the guest says so: slopes of features tell labels",
            "no such words",
            "write them, or use host_bottom='frozen', which opens nothing to hosts; label privacy is the loop's own "
            "business here, since nobody can tell from slopes which labels they know",
        )
    if host_bottom == "trained" and slope_leak != SLOPES_ACCEPTED:
        _refuse(
            "slope_leak_accepted",
            f"the words {SLOPES_ACCEPTED!r}, where all parties say so: slopes follow from columns of all",
            "no such words",
            "write them, or use host_bottom='frozen', which opens nothing to hosts",
        )


def check_row_count(row_count: int) -> int:
    """The rows that all parties have. Raises InputError for none."""
    if as_whole_number("row_count", row_count) < 1:
        _refuse("row_count", "1 or more", repr(row_count), "pass the number of rows that all parties have")
    return int(row_count)


def _as_argument(text: str) -> str:
    for pattern, word in _ARGUMENTS.items():
        text = re.sub(pattern, word, text)
    return text


def _refuse(name: str, expected: str, got: str, cure: str) -> None:
    raise InputError(f"argument {name} of {CALLED} refused", expected=expected, got=got, cure=cure)
