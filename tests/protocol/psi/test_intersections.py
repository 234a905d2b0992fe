"""Whole intersections: exactly the result of Python's sets, in one order at all parties, and for learners alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hekat.protocol.psi import transfer
from hekat.protocol.psi.ids import make_ids
from hekat.protocol.psi.messages import MaskedPointsMessage, SigningKeyMessage, TagsMessage
from hekat.protocol.psi.settings import IntersectionSettings

PEOPLE = {
    "guest": [f"person {i}" for i in range(40)],
    "bank": [f"person {i}" for i in range(75, 24, -1)],
    "shop": [f"person {i}" for i in range(0, 90, 3)],
    "clinic": [f"person {i}" for i in range(30, 60)],
}
PAIR = ("guest", ("bank",))
BOTH = {"ecdh", "rsa_blind"}


def ids_of(lists, *names: str):
    return {name: make_ids([lists[name]], name) for name in names}


def common_of(played, lists) -> dict[str, list]:
    return {
        name: [lists[name][row] for row in result.rows]
        for name, result in played.results.items()
        if result.rows is not None
    }


def check_exact(played, lists) -> None:
    """Every learner has the common ids, each once, in the same order as every other learner."""
    expected = set.intersection(*(set(lists[name]) for name in played.results))
    found = common_of(played, lists)
    assert len({tuple(one) for one in found.values()}) == 1
    for name, common in found.items():
        assert sorted(common) == sorted(expected)
        assert played.results[name].count == len(expected)
        assert played.results[name].rows.dtype == np.int64


@pytest.mark.long
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(-20, 60), min_size=2, unique=True),
    st.lists(st.integers(-20, 60), min_size=2, unique=True),
)
def test_ecdh_is_exact(intersect, guest, bank) -> None:
    lists = {"guest": guest, "bank": bank}
    check_exact(intersect(ids_of(lists, "guest", "bank"), IntersectionSettings(*PAIR)), lists)


@pytest.mark.long
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text("abé", min_size=1, max_size=3), min_size=2, unique=True),
    st.lists(st.text("abé", min_size=1, max_size=3), min_size=2, unique=True),
)
def test_rsa_is_exact(intersect, guest, bank) -> None:
    lists = {"guest": guest, "bank": bank}
    check_exact(intersect(ids_of(lists, "guest", "bank"), IntersectionSettings(*PAIR, kind="rsa_blind")), lists)


@pytest.mark.long_cases("rsa_blind-hosts2")
@pytest.mark.parametrize(
    ("kind", "hosts"),
    [("ecdh", ("bank", "shop")), ("ecdh", ("bank", "shop", "clinic")), ("rsa_blind", ("shop", "bank"))],
)
def test_several_hosts(intersect, kind: str, hosts) -> None:
    played = intersect(ids_of(PEOPLE, "guest", *hosts), IntersectionSettings("guest", hosts, kind=kind))
    assert len(played.results["guest"].rows) > 0
    check_exact(played, PEOPLE)


@pytest.mark.parametrize("kind", sorted(BOTH))
def test_lists_of_several_parts(intersect, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "PART_ROWS", 100)
    played = intersect(ids_of(PEOPLE, "guest", "bank"), IntersectionSettings(*PAIR, kind=kind))
    check_exact(played, PEOPLE)
    lists = played.channels["guest"].of(MaskedPointsMessage if kind == "ecdh" else TagsMessage)
    assert [len(part.rows) for part in lists] == [100, 100, 56]


@pytest.mark.long_cases("rsa_blind")
@pytest.mark.parametrize("kind", sorted(BOTH))
def test_sets_beyond_the_first_rung(intersect, kind: str) -> None:
    lists = {"guest": list(range(300)), "bank": list(range(290, 10, -1))}
    check_exact(intersect(ids_of(lists, "guest", "bank"), IntersectionSettings(*PAIR, kind=kind)), lists)


@pytest.mark.parametrize("kind", sorted(BOTH))
def test_nothing_in_common(intersect, kind: str) -> None:
    lists = {"guest": ["a", "b"], "bank": ["c", "d", "e"]}
    played = intersect(ids_of(lists, "guest", "bank"), IntersectionSettings(*PAIR, kind=kind))
    assert [(result.rows.shape, result.count) for result in played.results.values()] == [((0,), 0)] * 2


def test_several_id_columns(intersect) -> None:
    names, days = ["Ann", "Ann", "Bo", "Cy"], [3, 4, 3, 5]
    ids = {
        "guest": make_ids([names, days], "guest"),
        "bank": make_ids([names[::-1], [5, 4, 4, 3]], "bank"),
    }
    played = intersect(ids, IntersectionSettings(*PAIR))
    pairs = {(names[row], days[row]) for row in played.results["guest"].rows}
    assert pairs == {("Cy", 5), ("Ann", 4), ("Ann", 3)}
    assert set(played.results["bank"].rows) == {0, 2, 3}


@pytest.mark.long
def test_the_order_is_that_of_the_ids_alone(intersect) -> None:
    """Rows in another order, another run, other members: common ids come in the same order."""
    rng = np.random.default_rng(5)
    mixed = {name: [PEOPLE[name][i] for i in rng.permutation(len(PEOPLE[name]))] for name in ("guest", "bank")}
    orders = [
        common_of(intersect(ids_of(lists, "guest", "bank"), IntersectionSettings(*PAIR, kind=kind)), lists)["guest"]
        for lists, kind in ((PEOPLE, "ecdh"), (mixed, "ecdh"), (mixed, "rsa_blind"))
    ]
    assert orders[0] == orders[1] == orders[2]
    assert orders[0] != sorted(orders[0])


@pytest.mark.quick_values
@pytest.mark.parametrize("kind", sorted(BOTH))
@pytest.mark.parametrize("learns", [("guest",), ("bank",), ("bank", "guest")])
def test_who_learns(intersect, kind: str, learns) -> None:
    played = intersect(ids_of(PEOPLE, "guest", "bank"), IntersectionSettings(*PAIR, kind=kind, learns=learns))
    check_exact(played, PEOPLE)
    for name, result in played.results.items():
        assert (result.rows is not None) == (result.count is not None) == (name in learns)


def test_one_host_of_two_learns(intersect) -> None:
    settings = IntersectionSettings("guest", ("bank", "shop"), learns=("guest", "shop"))
    played = intersect(ids_of(PEOPLE, "guest", "bank", "shop"), settings)
    check_exact(played, PEOPLE)
    assert played.results["bank"].rows is None
    assert played.results["shop"].rows is not None


@pytest.mark.parametrize("learns", [None, ("guest",), ("bank",)])
def test_the_number_alone(intersect, learns) -> None:
    settings = IntersectionSettings(*PAIR, learns=learns, cardinality_only=True)
    played = intersect(ids_of(PEOPLE, "guest", "bank"), settings)
    expected = len(set(PEOPLE["guest"]) & set(PEOPLE["bank"]))
    for name, result in played.results.items():
        assert result.rows is None
        assert result.count == (expected if name in settings.learners else None)


def test_one_id_where_that_is_meant(intersect) -> None:
    lists = {"guest": ["person 30"], "bank": PEOPLE["bank"]}
    played = intersect(ids_of(lists, "guest", "bank"), IntersectionSettings(*PAIR, allow_single=True))
    check_exact(played, lists)
    assert "takes part with one id" in played.ledgers["guest"]
    assert "takes part with one id" not in played.ledgers["bank"]


@pytest.mark.parametrize("kind", sorted(BOTH))
def test_progress_reaches_its_end(intersect, kind: str) -> None:
    played = intersect(ids_of(PEOPLE, "guest", "bank"), IntersectionSettings(*PAIR, kind=kind))
    for told in played.progress.values():
        last = {what: (done, total) for what, done, total in told}
        assert last
        assert all(done == total for done, total in last.values())


@pytest.mark.long
def test_a_fresh_rsa_key_every_run(intersect) -> None:
    settings = IntersectionSettings(*PAIR, kind="rsa_blind")
    played = [intersect(ids_of(PEOPLE, "guest", "bank"), settings, own_keys=True) for _ in range(2)]
    keys = {one.channels["guest"].of(SigningKeyMessage)[0].public_key for one in played}
    assert len(keys) == 2


@pytest.mark.long
def test_twenty_thousand_of_each(intersect) -> None:
    lists = {"guest": list(range(20_000)), "bank": list(range(30_000, 9_000, -1))}
    check_exact(intersect(ids_of(lists, "guest", "bank"), IntersectionSettings(*PAIR)), lists)
