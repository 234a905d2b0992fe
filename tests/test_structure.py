"""The house rules that no linter knows: who may reach the native core, sizes of files, names that say something."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "hekat"
MOST_LINES = 500
EMPTY_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "base"}


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_only_the_cpu_engine_imports_the_native_core() -> None:
    importers = {
        path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if "hekat._native" in _imports(path)
    }
    assert importers == {"engine/cpu.py", "engine/ring/cpu.py"}


def test_files_stay_small() -> None:
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert {path.name: size for path, size in sizes.items() if size > MOST_LINES} == {}


def test_names_say_something() -> None:
    assert {path.stem for path in SOURCE.rglob("*")} & EMPTY_NAMES == set()


def test_every_file_opens_with_its_duty() -> None:
    silent = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []
