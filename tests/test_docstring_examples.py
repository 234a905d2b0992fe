"""Public docstrings say what goes in, what comes out and how it is used, and their examples do what they show."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import hekat

MODULES = (
    "hekat.paillier",
    "hekat.rsa",
    "hekat.lattice",
    "hekat.bigint",
    "hekat.encrypted_array",
    "hekat.fedml_he",
    "hekat.data",
    "hekat.estimator",
)
SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Warns", "Examples")


def public_names() -> Iterator[tuple[str, Any]]:
    """Every function and class that a public module names, under that name."""
    for module_name in MODULES:
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


PUBLIC = dict(public_names())
CALLABLES = {
    **{name: value for name, value in PUBLIC.items() if inspect.isfunction(value)},
    **{
        f"{name}.{method}": function
        for name, value in PUBLIC.items()
        if inspect.isclass(value)
        for method, function in methods_of(value)
    },
}


def sections_of(value: Any) -> dict[str, str]:
    """What stands below each heading of a docstring."""
    document = inspect.cleandoc(value.__doc__ or "")
    parts = re.split(rf"^({'|'.join(SECTIONS)}):$", document, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described_in(section: str) -> set[str]:
    """The names that a section of arguments or fields explains."""
    return set(re.findall(r"^    \*{0,2}(\w+): \S", section.rstrip(), flags=re.MULTILINE))


def described_of(value: Any, section: str) -> set[str]:
    """The names that one section of a docstring explains."""
    return described_in(sections_of(value).get(section, ""))


@pytest.mark.parametrize("name", CALLABLES)
def test_arguments_and_results_are_described(name: str) -> None:
    function = CALLABLES[name]
    signature = inspect.signature(function)
    if signature.return_annotation == "NoReturn":
        return
    sections = sections_of(function)
    parameters = {parameter for parameter in signature.parameters if parameter not in ("self", "cls")}
    assert described_in(sections.get("Args", "")) == parameters
    assert ("Returns" in sections) == (signature.return_annotation != "None")


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if inspect.isclass(value)])
def test_what_makes_an_object_is_described(name: str) -> None:
    cls = PUBLIC[name]
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
    for module, keys in ((hekat.paillier, paillier_keys), (hekat.rsa, rsa_keys)):
        monkeypatch.setattr(module, "generate_keys", lambda bits=3072, keys=keys: keys(bits))


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_do_what_they_show(
    name: str, stored_keys: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "import pyarrow" in (PUBLIC[name].__doc__ or ""):
        pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    monkeypatch.chdir(tmp_path)
    document = inspect.cleandoc(PUBLIC[name].__doc__ or "")
    test = doctest.DocTestParser().get_doctest(document, {}, name, None, None)
    assert test.examples, f"{name} has no example"
    told: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert result.failed == 0, "".join(told)
