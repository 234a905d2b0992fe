"""Engine selection: names, HEKAT_ENGINE, one instance, and no silent fallback."""

from __future__ import annotations

import sys

import pytest

from hekat.engine import select
from hekat.engine.reference import ReferenceEngine
from hekat.engine.select import available_engines, get_engine
from hekat.errors import EngineError


@pytest.fixture
def without_native_core(monkeypatch):
    """The process as it is on a machine where the native core was never built."""
    select._instance.cache_clear()
    monkeypatch.setitem(sys.modules, "hekat.engine.cpu", None)
    yield
    select._instance.cache_clear()


def test_a_named_engine_is_one_instance():
    assert isinstance(get_engine("reference"), ReferenceEngine)
    assert get_engine("reference") is get_engine("reference")


def test_the_variable_chooses(monkeypatch):
    monkeypatch.setenv("HEKAT_ENGINE", "reference")
    assert get_engine().name == "reference"


def test_a_name_goes_before_the_variable(monkeypatch):
    monkeypatch.setenv("HEKAT_ENGINE", "nonsense")
    assert get_engine("reference").name == "reference"


@pytest.mark.parametrize("value", [None, ""])
def test_the_default_is_cpu(monkeypatch, value):
    monkeypatch.delenv("HEKAT_ENGINE", raising=False)
    if value is not None:
        monkeypatch.setenv("HEKAT_ENGINE", value)
    assert get_engine().name == "cpu"


@pytest.mark.parametrize(
    ("typed", "cure"), [("refrence", "'reference'"), ("CPU", "'cpu'"), ("cpuu", "'cpu'"), ("quantum", "use 'cpu'")]
)
def test_an_unknown_name_is_answered_with_the_right_one(monkeypatch, typed, cure):
    monkeypatch.setenv("HEKAT_ENGINE", typed)
    with pytest.raises(EngineError, match=f"HEKAT_ENGINE names no engine.*cure: .*{cure}"):
        get_engine()
    with pytest.raises(EngineError, match=f"no such engine.*cure: .*{cure}"):
        get_engine(typed)


def test_a_missing_native_core_is_an_error_with_its_cure(without_native_core, monkeypatch):
    monkeypatch.delenv("HEKAT_ENGINE", raising=False)
    with pytest.raises(EngineError, match=r"native core cannot be loaded.*make build"):
        get_engine()
    states = available_engines()
    assert states["reference"] == "ready"
    assert "native core cannot be loaded" in states["cpu"]
