"""Single tenancy: who says so, and what engines do with it."""

from __future__ import annotations

import threading

import pytest

from hekat.engine.select import available_engines, get_engine
from hekat.engine.tenancy import declare_tenancy, is_single_tenant
from hekat.errors import EngineError

VARIABLE = "HEKAT_SINGLE_TENANT"


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_others_are_on_the_machine_unless_somebody_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_single_tenant()
    for declared in (True, False):
        with declare_tenancy(declared):
            assert is_single_tenant() is declared
        assert not is_single_tenant()
    with pytest.raises(KeyError), declare_tenancy(True):
        raise KeyError
    assert not is_single_tenant()


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize(("text", "expected"), [("1", True), (" 0 ", False), ("", None), ("  ", None)])
def test_the_variable_goes_before(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: bool | None, declared: bool
) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with declare_tenancy(declared):
        assert is_single_tenant() is (declared if expected is None else expected)


@pytest.mark.parametrize("text", ["yes", "true", "2", "01"])
def test_another_value_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    message = r"HEKAT_SINGLE_TENANT is neither yes nor no; expected 1 where .*, else 0; got .*; cure: set HEKAT_SINGLE"
    with pytest.raises(EngineError, match=message):
        get_engine("reference")
    assert all("neither yes nor no" in state for state in available_engines().values())


@pytest.mark.parametrize("first", [False, True])
def test_the_opposite_is_refused_while_somebody_is_within(first: bool) -> None:
    message = f"the opposite of its machine; expected single_tenant = {str(first).lower()}, .*; cure: .*HEKAT_SINGLE_"
    with declare_tenancy(first):
        with pytest.raises(EngineError, match=message), declare_tenancy(not first):
            pytest.fail("entered")
        assert is_single_tenant() is first
    with declare_tenancy(not first):
        assert is_single_tenant() is not first
    assert not is_single_tenant()


def test_those_who_agree_may_leave_in_any_order() -> None:
    one, other, third = (declare_tenancy(True) for _ in range(3))
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert is_single_tenant()
    third.__enter__()
    for left in (other, third):
        assert is_single_tenant()
        left.__exit__(None, None, None)
    assert not is_single_tenant()
    with declare_tenancy(False):
        assert not is_single_tenant()


def test_threads_never_see_what_they_did_not_say() -> None:
    barrier, seen = threading.Barrier(6), []

    def run(declared: bool) -> None:
        barrier.wait(timeout=60)
        for _ in range(500):
            try:
                with declare_tenancy(declared):
                    seen.append(is_single_tenant() is declared)
            except EngineError:
                seen.append(True)

    threads = [threading.Thread(target=run, args=(bool(i % 2),)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert seen == [True] * 3000
    assert not is_single_tenant()


@pytest.mark.parametrize("text", ["0", "1"])
def test_where_the_variable_speaks_nobody_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with declare_tenancy(True), declare_tenancy(False):
        assert is_single_tenant() is (text == "1")
    monkeypatch.delenv(VARIABLE)
    assert not is_single_tenant()


@pytest.mark.parametrize("name", ["reference", "cpu"])
def test_each_tenancy_has_its_own_engine(name: str) -> None:
    usual = get_engine(name)
    with declare_tenancy(True):
        alone = get_engine(name)
        assert get_engine(name) is alone
    assert get_engine(name) is usual
    assert (usual.single_tenant, alone.single_tenant) == (False, True)


def test_the_native_engine_describes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = get_engine("cpu").describe()
    assert usual["randomiser tables"] == "read whole, in constant time"
    assert not usual["constant time"].endswith("randomiser tables")
    monkeypatch.setenv(VARIABLE, "1")
    alone = get_engine("cpu").describe()
    assert alone["randomiser tables"] == "plain look-ups (single tenant)"
    assert alone["constant time"].endswith(", and for randomiser tables")
