"""Every refusal that stands in the code with its cure, for a reader who searches for the words of an error."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from error_page import error_classes

from hekat.errors import InputError, missing_extra

SOURCE = Path(__file__).parents[1] / "src" / "hekat"
_EXTRA = missing_extra.__name__
_NAMES = frozenset(error_classes())
_HEAD = """# Every refusal

What Hekat says when it refuses, with the cure that it gives; `...` stands for what it fills in. Search for the words of
an error that you saw. What each kind means: [exit codes and errors](errors.md).
"""


@functools.cache
def render_refusals() -> str:
    """reference/refusals.md of the site; it is written when the site is built."""
    lines = [_HEAD]
    found = sorted({refusal for path in SOURCE.rglob("*.py") for refusal in _refusals(path)})
    for kind in error_classes():
        own = [(what, cure) for name, what, cure in found if name == kind]
        if own:
            lines += [f"## {kind}", "", "| says | cure |", "|---|---|"]
            lines += [f"| {_cell(what)} | {_cell(cure)} |" for what, cure in own] + [""]
    return "\n".join(lines)


def _refusals(path: Path) -> Iterator[tuple[str, str, str]]:
    code = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(code)) if "cure=" in code or _EXTRA in code else ():
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id == _EXTRA:
            yield InputError.__name__, _text(node.args[0]), f"pip install 'hekat[{_text(node.args[1])}]'"
        if node.func.id in _NAMES:
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            if node.args and "cure" in named and len(what := _text(node.args[0])) > 3:
                yield node.func.id, what, _text(named["cure"])


def _text(node: ast.expr) -> str:
    """A text as it stands in the code, with dots for what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "..." for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.IfExp):
        return f"{_text(node.body)} / {_text(node.orelse)}"
    return "..."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("\n", " ").replace("_", "\\_")
