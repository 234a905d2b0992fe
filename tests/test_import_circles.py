"""No module imports itself by way of others, not even for its types: what two modules both need lies below both."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
# Where settings and what they are made of still name each other, for types alone: (importer, imported).
LEFT = {
    ("hekat.protocol.vertical_linear.shared_weights.factors", "hekat.protocol.vertical_linear.settings"),
    ("hekat.protocol.vertical_linear.shared_weights.scales", "hekat.protocol.vertical_linear.settings"),
    (
        "hekat.protocol.vertical_linear.prediction.predict_on_shares",
        "hekat.protocol.vertical_linear.prediction.predict_scores",
    ),
}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def statements_of(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements of a module, however deep; no import lies in an expression, and those are ten times as many."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            below = getattr(node, name, ())
            waiting += below if isinstance(below, list) else ()


def imports_by_module(paths: dict[str, Path]) -> dict[str, set[str]]:
    """For each module the modules that it imports anywhere; `from package import name` counts as what it finds."""
    graph: dict[str, set[str]] = {}
    for module, path in paths.items():
        found = set()
        for node in statements_of(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                full = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= full & paths.keys()
                # `from hekat import _native` is the native core, which is no module of these.
                if full - paths.keys() and node.module != "hekat":
                    found.add(node.module)
        graph[module] = found & paths.keys() - {module}
    return graph


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = imports_by_module({name_of(path): path for path in SOURCE.rglob("*.py")})
    for importer, imported in LEFT:
        graph.get(importer, set()).discard(imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
