"""The reference of commands, from the parser: every command with every option, its value, default and meaning."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from hekat.cli.main import build_parser

_HEAD = """# Commands

| command | answers |
|---|---|
{rows}

All take `--json` and `--help`. What a command ends with: [exit codes and errors](errors.md). What it reads from the
environment: [environment variables](environment.md).
"""


def render_commands() -> str:
    """docs/reference/cli.md."""
    leaves = list(_leaves(build_parser()))
    rows = "\n".join(f"| [`{parser.prog}`](#{_anchor(parser)}) | {_escaped(what)} |" for parser, what in leaves)
    return (
        "\n".join([_HEAD.format(rows=rows), *(line for leaf, _ in leaves for line in _command(leaf))]).rstrip() + "\n"
    )


def _leaves(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Every command that does something, with the line that its parent's help has of it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, sub in action.choices.items():
                nested = list(_leaves(sub))
                yield from nested or [(sub, helps[name])]


def _command(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## {parser.prog}"
    yield ""
    if parser.description:
        yield _escaped(parser.description)
        yield ""
    yield "| argument | value | default | what |"
    yield "|---|---|---|---|"
    for action in parser._actions:
        if not isinstance(action, argparse._HelpAction):
            yield _row(action)
    yield ""
    if parser.epilog:
        yield _escaped(parser.epilog)
        yield ""


def _row(action: argparse.Action) -> str:
    name = ", ".join(f"`{flag}`" for flag in action.option_strings) or f"`{_value(action)}`"
    cells = [name, _value(action) if action.option_strings else "", _default(action), action.help or ""]
    if not action.option_strings and action.nargs in (None, "+"):
        cells[2] = "**required**"
    return f"| {' | '.join(map(_escaped, cells))} |"


def _value(action: argparse.Action) -> str:
    """What follows the option: nothing for a switch."""
    if action.nargs == 0:
        return ""
    if action.metavar is not None:
        return str(action.metavar)
    if action.choices is not None:
        return ", ".join(str(choice) for choice in action.choices)
    return action.dest.upper()


def _default(action: argparse.Action) -> str:
    if action.default in (None, False, [], argparse.SUPPRESS):
        return ""
    text = str(action.default)
    return "" if text == "." else f"`{text}`"


def _anchor(parser: argparse.ArgumentParser) -> str:
    return parser.prog.replace(" ", "-")


def _escaped(text: str) -> str:
    """In a table a bar ends a cell; a name in angle brackets would be HTML."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("%%", "%")
