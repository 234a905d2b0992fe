"""Every benchmark finds what it imports: a name that moved shows here, and not at the next measurement."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FILES = sorted(path.relative_to(BENCHMARKS) for path in BENCHMARKS.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_benchmark_imports_what_is_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    own = {path.parts[0].removesuffix(".py") for path in FILES}
    left_out = False
    for node in ast.walk(ast.parse((BENCHMARKS / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in {"hekat", *own}:
            try:
                module = importlib.import_module(node.module)
            except ModuleNotFoundError as error:
                if str(error.name).partition(".")[0] in {"hekat", *own}:
                    raise
                left_out = True
                continue
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
    if left_out:
        pytest.skip("needs hekat[bench]")
