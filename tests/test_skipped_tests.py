"""The last lines of a test run say what was skipped for want of an extra, and how to get it."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])
# What belongs to the package itself, or has no build for some Python: no extra brings it.
NO_EXTRA = {"scipy.sparse", "atheris"}

WHOLE_FILE = """
import pytest
pytest.importorskip("no_such_module", reason="needs hekat[torch]")
def test_one(): pass
"""
SOME_TESTS = """
import pytest
@pytest.mark.skipif(True, reason="needs hekat[cuda13]")
@pytest.mark.parametrize("n", [1, 2])
def test_two(n): pass
def test_three(): pytest.importorskip("no_such_module", reason="needs hekat[ckks]")
def test_four(): pytest.skip("engine cuda: there is none")
def test_five(): pass
"""


@pytest.mark.parametrize("workers", [(), ("--numprocesses", "1")], ids=["one process", "a worker"])
def test_the_last_lines_say_what_was_skipped_and_how_to_get_it(
    workers: tuple[str, ...], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(test_whole=WHOLE_FILE, test_some=SOME_TESTS)
    answer = pytester.runpytest_inprocess("-ra", *workers)
    assert answer.ret == 0
    last = [line for line in answer.outlines if line.strip()]
    start = last.index("NOT TESTED, since extras are not installed:")
    assert last[start + 1 : -1] == [
        "  hekat[ckks]",
        "    test_some.py: 1 skipped",
        "  hekat[cuda13]",
        "    test_some.py: 2 skipped",
        "  hekat[torch]",
        "    test_whole.py: whole file",
        "To test these too: make .venv/.bench (every extra), or these alone:",
        "  .venv/bin/python -m pip install --constraint constraints.txt --editable '.[ckks,cuda13,torch]'",
    ]
    assert re.search(r"1 passed, 5 skipped", last[-1])


def test_a_run_that_skips_nothing_for_an_extra_says_nothing(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile("import pytest\ndef test_one(): pytest.skip('no /dev/full here')\ndef test_two(): pass\n")
    assert "NOT TESTED" not in pytester.runpytest_inprocess().stdout.str()


def skips_of(path: Path) -> list[ast.Call]:
    text = path.read_text(encoding="utf-8")
    if "importorskip" not in text:
        return []
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "importorskip"]


def test_every_test_that_is_skipped_without_a_module_names_an_extra_that_there_is() -> None:
    named: set[str] = set()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        named.update(re.findall(r"needs hekat\[([\w-]+)\]", text) if path != Path(__file__) else ())
        for call in skips_of(path):
            module = ast.literal_eval(call.args[0])
            reason = next((ast.unparse(word.value) for word in call.keywords if word.arg == "reason"), "")
            # A reason that is a name stands in the file.
            assert module in NO_EXTRA or "needs hekat[" in reason or (reason == "reason" and "needs hekat[" in text), (
                f"{path}: {module}"
            )
    assert {"torch", "ckks", "parquet", "notebook", "cuda13", "report", "bench"} <= named <= EXTRAS
