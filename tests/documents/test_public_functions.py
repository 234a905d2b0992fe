"""Every public function says what it takes, gives and raises, and has an example that gives what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.documents.markdown import TEXTS

import hekat
from hekat import paillier, rsa, wire
from hekat.channel import PartyPublicKey
from hekat.cli.main import main
from hekat.own_loop import Party

# What tests/test_docstring_examples.py and tests/estimator/test_docstring_examples.py leave out.
MODULES = ("hekat.own_loop", "hekat.report", "hekat.wire", "hekat.ledger")
PUBLIC = (
    *("hekat.encrypted_array", "hekat.paillier", "hekat.rsa", "hekat.lattice", "hekat.bigint", "hekat.fedml_he"),
    *("hekat.data", "hekat.estimator", *MODULES),
)


def _named(module: str) -> dict[str, Any]:
    return {f"{module}.{name}": getattr(importlib.import_module(module), name)
            for name in importlib.import_module(module).__all__}  # fmt: skip


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: value for module in MODULES for name, value in _named(module).items() if inspect.isfunction(value)},
    **{f"Party.{name}": getattr(Party, name) for name in ("aggregate", "start_from", "check_same")},
}


def test_every_public_name_stands_on_a_page() -> None:
    text = "\n".join(text for name, text in TEXTS.items() if name.startswith("docs/reference/"))
    shown = []
    for path in re.findall(r"^::: (\S+)$", text, re.MULTILINE):
        module, _, name = path.rpartition(".")
        shown.append(getattr(importlib.import_module(module), name))
    public = {name: value for module in PUBLIC for name, value in _named(module).items()}
    assert (
        sorted(name for name, value in public.items() if _is_shown(value) and not any(value is x for x in shown)) == []
    )


def _is_shown(value: Any) -> bool:
    return inspect.isfunction(value) or inspect.isclass(value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_takes_and_gives(name: str) -> None:
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    signature = inspect.signature(FUNCTIONS[name])
    taken = [parameter for parameter in signature.parameters if parameter != "self"]
    described = re.findall(r"^    (\w+): ", text.split("\nArgs:\n")[-1].split("\n\n")[0], re.MULTILINE)
    assert described == taken if taken else "Args:" not in text
    assert ("\nReturns:\n" in text) == (signature.return_annotation not in ("None", None))
    assert "\nExamples:\n" in text


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of made tables."""
    folder = tmp_path_factory.mktemp("public")
    init = ["init", str(folder / "first"), "--example", "--name", "first", "--parties", "north,south,east"]
    assert main(init) == 0
    assert main(["run", str(folder / "first" / "job.toml"), "--runs", str(folder / "runs")]) == 0
    (run,) = (folder / "runs").iterdir()
    return run


@pytest.fixture
def names(finished: Path, monkeypatch: pytest.MonkeyPatch, paillier_keys: Any, rsa_keys: Any) -> dict[str, Any]:
    """What examples may use: the packages, stored keys in place of new ones, and a run that is finished."""
    monkeypatch.setattr(paillier, "generate_keys", lambda bits=3072, **_: paillier_keys(bits))
    monkeypatch.setattr(rsa, "generate_keys", lambda bits=3072, **_: rsa_keys(bits))
    pins = json.loads((finished / "parties.json").read_text(encoding="utf-8"))
    keys = {name: PartyPublicKey.from_line(line) for name, line in pins.items()}
    ledgers = {name: finished / "ledger" / f"{name}.jsonl" for name in keys}
    return {
        **{"hekat": hekat, "np": np, "rsa": rsa, "wire": wire},
        **{"run_folder": finished, "ledger_file": ledgers["north"], "public_key": keys["north"]},
        "two_ledgers": [(ledgers[name], keys[name]) for name in ("north", "south")],
        **{name.rpartition(".")[2]: function for name, function in FUNCTIONS.items()},
    }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_example_gives_what_it_says(name: str, names: dict[str, Any]) -> None:
    if name.startswith("hekat.report.write_report"):
        pytest.importorskip("matplotlib", reason="needs hekat[report]")
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    example = doctest.DocTestParser().get_doctest(text, dict(names), name, None, None)
    assert example.examples
    told: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=told.append)
    assert told == []
