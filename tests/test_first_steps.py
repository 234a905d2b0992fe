"""The notebook of first steps: kept without outputs, and every cell of it runs."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "examples" / "first_steps.ipynb"
# What tests leave out in this process the notebook's own process leaves out too: the search for primes.
PRELUDE = f"""import sys
sys.path.append({str(ROOT)!r})
from hekat.scheme.paillier.keys import key_pair
from tests.left_out import take_stored_primes
key_pair.find_prime_pair = take_stored_primes
sys.path.pop()"""
CELL_TIMEOUT_S = 240
# What the outputs of its cells show.
TITLES = ("EncryptedArray", "BigIntArray", "3 parties, 20 rounds", "Bits against accuracy", "<svg")


@pytest.fixture
def kept() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return content


def test_it_is_kept_without_outputs_and_without_traces_of_a_machine(kept) -> None:
    code = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 8
    assert [cell["outputs"] for cell in code] == [[]] * len(code)
    assert [cell["execution_count"] for cell in code] == [None] * len(code)
    assert [cell["id"] for cell in kept["cells"]] == [f"step-{n}" for n in range(1, len(kept["cells"]) + 1)]
    assert set(kept["metadata"]) == {"kernelspec", "language_info"}
    assert not re.search(r"/(?:home|root|Users|work|tmp)/|[A-Z]:\\\\", NOTEBOOK.read_text(encoding="utf-8"))


@pytest.mark.long
def test_every_cell_runs_in_this_process(kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a notebook, the value of a cell's last line is shown where it is one."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in kept["cells"]:
        if cell["cell_type"] != "code":
            continue
        lines = ast.parse("".join(cell["source"])).body
        last = lines.pop() if isinstance(lines[-1], ast.Expr) else None
        exec(compile(ast.Module(lines, []), cell["id"], "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    for title in TITLES:
        assert title in "".join(shown)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_every_cell_runs_and_shows_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "needs hekat[notebook]"
    nbformat = pytest.importorskip("nbformat", reason=reason)
    nbclient = pytest.importorskip("nbclient", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "TMPDIR"):
        (tmp_path / name.lower()).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    (tmp_path / "cwd").mkdir()
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(PRELUDE))
    client = nbclient.NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path / "cwd")}},
    )
    client.execute()  # raises CellExecutionError at the first cell that fails
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    shown = "".join(output.get("data", {}).get("text/html", "") for output in outputs)
    for title in TITLES:
        assert title in shown
    printed = "".join(output.get("text", "") for output in outputs)
    assert "'accuracy'" in printed
    # It leaves nothing where it ran, nor in the folder for temporary files.
    assert list((tmp_path / "cwd").iterdir()) == []
    assert [path.name for path in (tmp_path / "tmpdir").iterdir() if path.name.startswith("hekat")] == []
