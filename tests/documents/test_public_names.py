"""Public docstrings say what goes in, what comes out and how it is used; their examples do what they show."""

from __future__ import annotations

import doctest
import inspect
import json
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.documents.markdown import TEXTS

import hekat
from hekat import paillier, rsa, wire
from hekat.channel import PartyPublicKey
from hekat.cli.main import main
from hekat.own_loop import Party, SplitGuest, SplitHost

# Classes of these are made by a user's program: their fields are described too, and they have examples.
MODULES = (
    "hekat.paillier",
    "hekat.rsa",
    "hekat.lattice",
    "hekat.bigint",
    "hekat.encrypted_array",
    "hekat.fedml_he",
    "hekat.privacy",
    "hekat.data",
    "hekat.estimator",
)
# Classes of these come out of functions; examples of the functions begin with what a run left.
MODULES_AFTER_A_RUN = ("hekat.own_loop", "hekat.report", "hekat.wire", "hekat.ledger")
# Instruments of experiments: each name stands on a page, and functions have examples.
INSTRUMENTS = ("hekat.privacy.attacks", "hekat.privacy.audit")
SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Warns", "Examples")


def public_names(module_name: str) -> Iterator[tuple[str, Any]]:
    """Every function and class that the module makes public, under its whole name."""
    module = import_module(module_name)
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            yield f"{module_name}.{name}", value


def methods_of(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The methods that a public class has from Hekat, its own and inherited ones."""
    for name in dir(cls):
        raw = inspect.getattr_static(cls, name)
        function = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
        is_own = inspect.isfunction(function) and function.__module__.startswith("hekat.")
        if is_own and not name.startswith("_"):
            yield name, function


PUBLIC = {name: value for module in MODULES for name, value in public_names(module)}
PUBLIC_AFTER_A_RUN = {name: value for module in MODULES_AFTER_A_RUN for name, value in public_names(module)}
PUBLIC_INSTRUMENTS = {name: value for module in INSTRUMENTS for name, value in public_names(module)}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
FUNCTIONS_AFTER_A_RUN: dict[str, Callable[..., Any]] = {
    **{name: value for name, value in PUBLIC_AFTER_A_RUN.items() if inspect.isfunction(value)},
    **{f"hekat.own_loop.Party.{name}": getattr(Party, name) for name in ("aggregate", "start_from", "check_same")},
}
INSTRUMENT_FUNCTIONS = {name: value for name, value in PUBLIC_INSTRUMENTS.items() if inspect.isfunction(value)}
CALLABLES = {
    **INSTRUMENT_FUNCTIONS,
    **{name: value for name, value in PUBLIC.items() if inspect.isfunction(value)},
    **{f"{name}.{method}": function for name, cls in CLASSES.items() for method, function in methods_of(cls)},
    **FUNCTIONS_AFTER_A_RUN,
    **{
        f"hekat.own_loop.{cls.__name__}.{method}": function
        for cls in (SplitGuest, SplitHost)
        for method, function in methods_of(cls)
        if method != "play"
    },
}


def sections_of(value: Any) -> dict[str, str]:
    """What stands below each heading of a docstring."""
    document = inspect.cleandoc(value.__doc__ or "")
    parts = re.split(rf"^({'|'.join(SECTIONS)}):$", document, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described_of(value: Any, section: str) -> list[str]:
    """The names that one section of a docstring, of arguments or fields, explains."""
    return re.findall(r"^    \*{0,2}(\w+): \S", sections_of(value).get(section, "").rstrip(), flags=re.MULTILINE)


def test_every_public_name_stands_on_a_page() -> None:
    text = "\n".join(text for name, text in TEXTS.items() if name.startswith("docs/reference/"))
    shown = []
    for path in re.findall(r"^::: (\S+)$", text, re.MULTILINE):
        module, _, name = path.rpartition(".")
        shown.append(getattr(import_module(module), name))
    public = {**PUBLIC, **PUBLIC_AFTER_A_RUN, **PUBLIC_INSTRUMENTS}
    assert sorted(name for name, value in public.items() if not any(value is one for one in shown)) == []


@pytest.mark.parametrize("name", CALLABLES)
def test_arguments_and_results_are_described(name: str) -> None:
    signature = inspect.signature(CALLABLES[name])
    if signature.return_annotation == "NoReturn":
        return
    taken = [parameter for parameter in signature.parameters if parameter not in ("self", "cls")]
    assert described_of(CALLABLES[name], "Args") == taken
    assert ("Returns" in sections_of(CALLABLES[name])) == (signature.return_annotation not in ("None", None))


@pytest.mark.parametrize("name", CLASSES)
def test_what_makes_an_object_is_described(name: str) -> None:
    cls = CLASSES[name]
    if issubclass(cls, Warning) or (cls.__init__ is object.__init__ and cls.__new__ is object.__new__):
        return
    taken = set(inspect.signature(cls).parameters)
    # Parameters that a class inherits are described where they are defined.
    bases = [base for base in cls.__mro__ if base.__module__.startswith("hekat.")]
    described = {name for base in bases for part in ("Args", "Attributes") for name in described_of(base, part)}
    assert described >= taken


@pytest.fixture
def stored_keys(monkeypatch: pytest.MonkeyPatch, paillier_keys: Any, rsa_keys: Any) -> None:
    """`generate_keys()` gives stored keys, so that examples can begin as a user's program does."""
    for module, keys in ((paillier, paillier_keys), (rsa, rsa_keys)):
        monkeypatch.setattr(module, "generate_keys", lambda bits=3072, keys=keys: keys(bits))


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
def left_by_a_run(finished: Path) -> dict[str, Any]:
    """What examples may use that begin after a run: the packages, and the run's folder, keys and ledgers."""
    pins = json.loads((finished / "parties.json").read_text(encoding="utf-8"))
    keys = {name: PartyPublicKey.from_line(line) for name, line in pins.items()}
    ledgers = {name: finished / "ledger" / f"{name}.jsonl" for name in keys}
    return {
        **{"hekat": hekat, "np": np, "rsa": rsa, "wire": wire},
        **{"run_folder": finished, "ledger_file": ledgers["north"], "public_key": keys["north"]},
        "two_ledgers": [(ledgers[name], keys[name]) for name in ("north", "south")],
        **{name.rpartition(".")[2]: function for name, function in FUNCTIONS_AFTER_A_RUN.items()},
    }


def check_examples(name: str, value: Any, names: dict[str, Any]) -> None:
    """The docstring has examples, and they give what they show."""
    document = inspect.cleandoc(value.__doc__ or "")
    assert "Examples" in sections_of(value), f"{name} has no section of examples"
    test = doctest.DocTestParser().get_doctest(document, dict(names), name, None, None)
    assert test.examples, f"{name} has no example"
    told: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert result.failed == 0, "".join(told)


@pytest.mark.long_cases(
    "hekat.estimator.VerticalGradientBoostingRegressor",
    "hekat.estimator.HorizontalLinearRegression",
    "hekat.estimator.VerticalLogisticRegression",
    "hekat.estimator.VerticalGradientBoostingClassifier",
    "hekat.estimator.VerticalNetworkClassifier",
    "hekat.estimator.HorizontalGradientBoostingRegressor",
    "hekat.estimator.HorizontalLogisticRegression",
    "hekat.estimator.VerticalLinearRegression",
    "hekat.estimator.cross_val_score",
    "hekat.estimator.HorizontalMLPClassifier",
    "hekat.estimator.HorizontalGradientBoostingClassifier",
    "hekat.estimator.HorizontalMLPRegressor",
    "hekat.estimator.VerticalNetworkRegressor",
)
@pytest.mark.parametrize("name", PUBLIC)
def test_an_example_does_what_it_shows(
    name: str, stored_keys: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "import pyarrow" in (PUBLIC[name].__doc__ or ""):
        pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    monkeypatch.chdir(tmp_path)
    check_examples(name, PUBLIC[name], {})


@pytest.mark.long_cases("hekat.privacy.attacks.invert")
@pytest.mark.parametrize("name", INSTRUMENT_FUNCTIONS)
def test_an_example_of_an_instrument_does_what_it_shows(name: str) -> None:
    if name.startswith("hekat.privacy.attacks."):
        pytest.importorskip("torch", reason="needs hekat[torch]")
    check_examples(name, INSTRUMENT_FUNCTIONS[name], {})


@pytest.mark.long_cases("hekat.own_loop.federate_split", "hekat.report.write_report")
@pytest.mark.parametrize("name", FUNCTIONS_AFTER_A_RUN)
def test_an_example_after_a_run_does_what_it_shows(name: str, stored_keys: None, left_by_a_run: dict[str, Any]) -> None:
    if name == "hekat.report.write_report":
        pytest.importorskip("matplotlib", reason="needs hekat[report]")
    check_examples(name, FUNCTIONS_AFTER_A_RUN[name], left_by_a_run)
