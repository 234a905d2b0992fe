"""How the command `hekat` is called here, so that a hint can be copied into the shell that reads it."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

NAME = "hekat"
# A command in a text, and no word of its own such as `hekat.estimator` or docs/hekat.
_CALL = re.compile(
    rf"(?<![\w./-]){NAME}(?= (?:init|job|site|run|relay|party|predict|doctor|report|audit|keys|--help)\b)"
)


def command_name() -> str:
    """`hekat` where a shell finds this installation by that name, else the path of its script, as a shell takes it.

    A path below the current folder is relative, such as .venv/bin/hekat. Where this installation has no script, the
    name is all there is.
    """
    own = Path(sys.executable).parent / NAME
    if not own.is_file():
        return NAME
    found = shutil.which(NAME)
    if found is not None and Path(found).samefile(own):
        return NAME
    folder = Path.cwd()
    if own.parent == folder:
        return f"./{NAME}"
    return shlex.quote(str(own.relative_to(folder) if own.is_relative_to(folder) else own))


def as_called(text: str) -> str:
    """`text` with every command `hekat ...` in it as it is called here."""
    name = command_name()
    return text if name == NAME else _CALL.sub(lambda found: name, text)
