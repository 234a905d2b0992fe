"""Refuses, by name, options that the protocol of a job does not use."""

from __future__ import annotations

import argparse

from hekat.errors import InputError


def refuse_options(
    options: argparse.Namespace, protocol: str, *names: str, command: str = "hekat run JOB", beside: str = ""
) -> None:
    """Raise InputError where one of these options was given; names as argparse stores them.

    `beside` is an option that makes them useless, whatever the protocol.
    """
    values = {name: getattr(options, name) for name in names}
    given = [f"--{name.replace('_', '-')}" for name, value in values.items() if value is not None and value != []]
    if given:
        use = f"beside {beside}" if beside else f"for a job of protocol '{protocol}'"
        raise InputError(
            f"{' and '.join(given)} {'has' if len(given) == 1 else 'have'} no use {use}",
            expected=f"{command} without {' and '.join(given)}",
            got=" ".join(given),
            cure="leave it out" if len(given) == 1 else "leave them out",
        )
