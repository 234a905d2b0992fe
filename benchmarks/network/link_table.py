"""The table of links: a round of each model by each way of averaging over each link, bytes beside plain float32.

Ways, all over the same mailboxes, links and update values:

    hekat      the default protection (lattice, committee), 16 bits
    plain      float32 up, float32 mean down
    tenseal    CKKS as NVIDIA FLARE's homomorphic encryption sends it
    paillier   Hekat's protection `paillier` in BatchCrypt's batch form (two sign bits, 16 bits, 2048-bit key)
    secaggplus Flower's SecAgg+, its own code, where flwr is installed in an environment of its own
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from network.exchange import ExchangeWork, PlainFloat32, TensealOfNvflare, play_exchange
from network.forked_roles import RoleFigures
from network.loop_processes import LoopWork, play_loop
from network.models import MODELS, ModelShapes
from network.shaped_link import LINKS, LOOPBACK, Link, shaping_of_kernel

FLOAT32_BYTES = 4
# A round that takes no longer is measured this often, the first not counted; a longer one once.
SHORT_ROUND_S, SHORT_ROUNDS, LONG_ROUNDS = 6.0, 3, 1
# Of plain float32 each way, to foresee what a round must take; what it takes is measured.
EXPECTED_TIMES_FLOAT32 = {"hekat": 0.75, "plain": 1.0, "tenseal": 14.5, "paillier": 1.3, "secaggplus": 1.9}
TENSEAL_CONTEXT_BYTES = 670_000
# Paillier on this machine's cores, all parties together: models beyond a few 100,000 values take minutes a round.
SECONDS_A_MILLION_VALUES = {"paillier": 100.0, "secaggplus": 0.5}
LINKS_BY_NAME = {"lan": LOOPBACK, **dict(zip(("1g", "100m", "10m"), LINKS, strict=True))}


@dataclass(frozen=True)
class Table:
    """What can be asked for."""

    models: list[str]
    links: list[str]
    ways: list[str]


def _play_hekat(model: ModelShapes, parties: tuple[str, ...], link: Link, rounds: int) -> dict[str, RoleFigures]:
    return play_loop(LoopWork(parties, model.value_count, rounds, link=link, lost_after_s=600.0))


def _play_paillier(model: ModelShapes, parties: tuple[str, ...], link: Link, rounds: int) -> dict[str, RoleFigures]:
    batch_form = {"protection": "paillier", "layout": "two_sign_bits"}
    return play_loop(LoopWork(parties, model.value_count, rounds, link=link, lost_after_s=600.0, **batch_form))  # type: ignore[arg-type]


def _play_plain(model: ModelShapes, parties: tuple[str, ...], link: Link, rounds: int) -> dict[str, RoleFigures]:
    return play_exchange(ExchangeWork(parties, model.value_count, rounds, lambda: PlainFloat32(len(parties)), link))


def _play_tenseal(model: ModelShapes, parties: tuple[str, ...], link: Link, rounds: int) -> dict[str, RoleFigures]:
    return play_exchange(
        ExchangeWork(parties, model.value_count, rounds, lambda: TensealOfNvflare(model.sizes, len(parties)), link)
    )


def _play_secagg_plus(model: ModelShapes, parties: tuple[str, ...], link: Link, rounds: int) -> dict[str, RoleFigures]:
    from network.secagg_plus import play_secagg_plus

    return play_secagg_plus(parties, model.value_count, rounds, link)


_Play = Callable[[ModelShapes, tuple[str, ...], Link, int], dict[str, RoleFigures]]
WAYS: dict[str, _Play] = {
    "hekat": _play_hekat,
    "plain": _play_plain,
    "tenseal": _play_tenseal,
    "paillier": _play_paillier,
    "secaggplus": _play_secagg_plus,
}
_NEEDS = {"tenseal": "tenseal", "secaggplus": "flwr"}
TABLE = Table(list(MODELS), list(LINKS_BY_NAME), list(WAYS))


def measure_links(
    models: Sequence[str], links: Sequence[str], ways: Sequence[str], *, parties: int, most_round_s: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """The rows, what was left out and why, and the conditions of all."""
    names = tuple(f"p{number}" for number in range(parties))
    rows: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    for model in (MODELS[name] for name in models):
        for link in (LINKS_BY_NAME[name] for name in links):
            for way in ways:
                at_least_s = round_at_least_s(way, model, link, parties)
                if way in _NEEDS and find_spec(_NEEDS[way]) is None:
                    continue
                named = {"model": model.name, "values": model.value_count, "link": link.name, "way": way}
                if at_least_s > most_round_s:
                    left_out.append({**named, "round_at_least_s": round(at_least_s)})
                    continue
                rounds = SHORT_ROUNDS if at_least_s <= SHORT_ROUND_S else LONG_ROUNDS
                figures = WAYS[way](model, names, link, rounds)
                rows.append({**named, **_figures_of(figures[names[0]], model, rounds)})
                print(rows[-1], flush=True)
    missing = [f"{way}: {_NEEDS[way]} is not installed" for way in ways if find_spec(_NEEDS.get(way, "numpy")) is None]
    shaping = f"shaping relay; {shaping_of_kernel()}"
    return rows, left_out, {"parties": parties, "missing": missing, "shaping": shaping}


def round_at_least_s(way: str, model: ModelShapes, link: Link, parties: int) -> float:
    """What a round must take by its bytes: all updates arrive over the aggregator's link, all means leave by it. Of
    Paillier and SecAgg+ also what they compute, by a guess."""
    float32_bytes = FLOAT32_BYTES * model.value_count
    one_way = float32_bytes * EXPECTED_TIMES_FLOAT32[way]
    if way == "tenseal":
        one_way += TENSEAL_CONTEXT_BYTES * len(model.sizes)
    computes_s = SECONDS_A_MILLION_VALUES.get(way, 0.0) * model.value_count / 1e6
    return computes_s + 2 * parties * link.seconds_of(round(one_way)) + 2 * link.round_trip_s


def _figures_of(party: RoleFigures, model: ModelShapes, rounds: int) -> dict[str, Any]:
    float32_bytes = FLOAT32_BYTES * model.value_count
    up, down = party.a_round("bytes_out"), party.a_round("bytes_in")
    return {
        "rounds": rounds,
        "round_s": round(party.median_round_s, 4),
        "up_bytes": round(up),
        "down_bytes": round(down),
        "up_of_float32": round(up / float32_bytes, 3),
        "down_of_float32": round(down / float32_bytes, 3),
        "parcels_sent": round(party.a_round("trips"), 1),
    }
