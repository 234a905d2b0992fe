"""The README keeps its word: two pages, examples that run, a map of all packages, figures that were measured."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest
from tests.documents.markdown import ROOT, TEXTS, blocks, table_rows

import hekat.estimator

README = TEXTS["README.md"]
MOST_LINES = 200


def test_the_documents_are_there() -> None:
    expected = {
        *("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"),
        *("docs/explanation/architecture.md", "docs/explanation/security.md"),
        *("docs/spec/committee.md", "docs/spec/security-estimate.md"),
    }
    assert expected <= set(TEXTS)
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= MOST_LINES


def test_every_package_stands_in_its_map() -> None:
    (drawn,) = [block for block in blocks(README, "") if block.startswith("src/hekat/")]
    lines = drawn.split("native/")[0].splitlines()[1:]
    named = {name for line in lines for name in re.split(r" {3,}", line.strip())[0].split()}
    assert named == {path.parent.name for path in (ROOT / "src" / "hekat").glob("*/__init__.py")}


def test_every_kind_of_document_stands_in_its_map() -> None:
    folders = {path.parent.name for path in (ROOT / "docs").glob("*/index.md")}
    assert len(folders) == 7
    assert {folder for folder in folders if f"](docs/{folder}/index.md)" not in README} == set()


def test_the_columns_of_other_parties_are_trained_on(monkeypatch: pytest.MonkeyPatch, paillier_keys: Any) -> None:
    (code,) = [block for block in blocks(README, "python") if "VerticalLogisticRegression" in block]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    ready = {"clinic": paillier_keys[2048][0], "laboratory": paillier_keys[2048][1]}

    class Quicker(hekat.estimator.VerticalLogisticRegression):
        """One epoch under stored keys: what the lines say is tried, not how good its probabilities become."""

        def fit(self, tables: Any, labels: Any) -> Any:
            self.set_params(epochs=1, key_bits=2048, keys=ready, reweight=False)
            return super().fit(tables, labels)

    monkeypatch.setattr(hekat.estimator, "VerticalLogisticRegression", Quicker)
    names: dict[str, Any] = {}
    exec(compile(code.replace("print(", "answer = ("), "README.md", "exec"), names)  # the code that the README shows
    assert 0.5 < names["answer"] <= 1


@pytest.mark.parametrize("page", ["README.md", "docs/measured/index.md"])
def test_its_figures_are_those_that_were_measured(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    writer = importlib.import_module("write_measured_pages")
    table = writer.render_short(writer.SHORT[ROOT / page])
    measured = {name for name in writer.SUMMARY_RESULTS if (writer.RESULTS / f"{name}.json").exists()}
    # A row for each result, and two of networks.
    assert len(table_rows(table)) == 1 + len(measured) + ("networks" in measured)
    assert writer.replace_short(TEXTS[page], table) == TEXTS[page], "run benchmarks/write_measured_pages.py"
