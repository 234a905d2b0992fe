"""The reference is complete and current: commands, keys of files, variables, exit codes, errors, decisions."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from tests.documents.markdown import ROOT, TEXTS

from hekat.cli.exit_codes import ExitCode
from hekat.engine.select import ENGINE_VARIABLE


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of docs_build by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "docs_build"))
    return importlib.import_module


@pytest.mark.parametrize(
    "page", ["cli.md", "job.md", "site.md", "environment.md", "errors.md", "../decisions/index.md"]
)
def test_a_page_is_the_one_that_the_code_gives(load: Any, page: str) -> None:
    name = f"reference/{page}" if "/" not in page else page.removeprefix("../")
    assert TEXTS[f"docs/{name}"] == load("write_reference").PAGES[name](), "run docs_build/write_reference.py"


def test_every_key_that_a_reader_takes_is_described_and_no_other(load: Any) -> None:
    described = load("key_pages").descriptions()
    recorded = load("recorded_keys").recorded_keys()
    assert {file: sorted(keys) for file, keys in described.items()} == {
        file: sorted(keys) for file, keys in recorded.items()
    }
    assert all({"what", "range"} <= set(said) for keys in described.values() for said in keys.values())


def test_types_and_defaults_of_keys_come_from_the_code(load: Any) -> None:
    recorded = load("recorded_keys").recorded_keys()
    key = recorded["horizontal"]["training.patience"]
    assert (key.kind, key.default) == ("whole number", "0")
    assert recorded["horizontal"]["weight_max"].default == "required"
    assert recorded["site"]["policy.openings"].default == '["committee"]'
    assert (
        "| `seed` | of the first weights; the same at all parties | whole number | `0` |"
        in TEXTS["docs/reference/job.md"]
    )


def test_every_variable_that_the_code_reads_is_listed_and_no_other(load: Any) -> None:
    page = load("environment_page")
    assert set(page.VARIABLES) == page.variables_read()
    assert ENGINE_VARIABLE in page.VARIABLES


def test_every_kind_of_error_has_a_cure_and_every_exit_code_stands_there(load: Any) -> None:
    page = load("error_page")
    assert set(page.CURES) == set(page.error_classes())
    assert {error.exit_code for error in page.error_classes().values()} <= set(ExitCode)


def test_refusals_are_found_with_their_cures(load: Any) -> None:
    text = load("refusal_page").render_refusals()
    assert "| too few parties to train together | a sum over one party" in text
    assert "| PyTorch is not installed | pip install 'hekat[torch]' |" in text
    assert text.count("\n| ") > 500
