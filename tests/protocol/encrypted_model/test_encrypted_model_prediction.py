"""Hosts score rows by a model that nobody reads, to the told bits, and too few rows for scores to tell the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.protocol.encrypted_model.play import (
    AGGREGATOR,
    ARBITER,
    HOSTS,
    OWNER,
    ends,
    make_settings,
    make_tables,
    play,
)

from hekat.channel import PartyKey
from hekat.data import Table
from hekat.errors import BoundError, DivergedError, InputError, PolicyError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.held_share import HeldShare
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.encrypted_model.party_run import SHARE, TRANSCRIPT, EncryptedModelRun
from hekat.protocol.encrypted_model.prediction.predict import (
    ask_scores,
    receive_scores,
    serve_as_aggregator,
    serve_as_arbiter,
)
from hekat.protocol.encrypted_model.prediction.score_shares import (
    OPENED_BITS,
    add_score_shares,
    cut_arbiter_share,
    cut_asker_share,
    lay_out_scores,
    reduce_share,
)
from hekat.protocol.encrypted_model.prediction.settings import PredictionSettings, usual_rows
from hekat.protocol.encrypted_model.set_up.facts import ModelFacts
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.shares.share_array import add_shares, from_integers, random_shares, signed_integers, subtract
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.bfv import generate_keys
from hekat.scheme.bfv.shared_products import (
    add_to_matrix,
    encrypt_matrix,
    multiply_masked,
    open_share,
    prepare_matrix,
)

SEED = 17
NORTH, SOUTH = HOSTS[:2]
UNIT = 2.0**-12


@dataclass
class Trained:
    """What a training left at every role, and the owner's model to hold scores against."""

    settings: EncryptedModelSettings
    facts: list[ModelFacts]
    held: dict[str, HeldShare]
    model: OwnedModel
    tables: dict[str, Table]
    counted: list[int] = field(default_factory=list)

    def predict(
        self,
        rows: int,
        *,
        tamper: Callable[[str, str, str, Any], Any] = lambda by, to, step, message: message,
        table: Table | None = None,
        asked: dict[str, Any] | None = None,
        **changes: Any,
    ) -> dict[str, npt.NDArray[np.float64] | None]:
        """Play a prediction of the first `rows` of the asker's; `asked` are settings of the asker alone."""
        usual = {"asker": NORTH} | changes
        settings = PredictionSettings(self.settings, **usual)
        own = PredictionSettings(self.settings, **(usual | (asked or {})))
        table = self.tables[own.asker].take(np.arange(rows)) if table is None else table
        run = EncryptedModelRun(Stopwatch(), count_predictions=self.counted.append)

        def ask(channel: RecordedChannel) -> npt.NDArray[np.float64] | None:
            return ask_scores(channel, self.facts[0], table, own, run)

        def receive(channel: RecordedChannel) -> npt.NDArray[np.float64] | None:
            return receive_scores(channel, self.facts[0], settings)

        def arbiter(channel: RecordedChannel) -> None:
            serve_as_arbiter(channel, self.held[ARBITER], settings, run)

        def aggregator(channel: RecordedChannel) -> None:
            serve_as_aggregator(channel, self.held[AGGREGATOR], settings, run)

        roles: dict[str, Callable[[RecordedChannel], Any]] = {
            settings.receiver_name: receive,
            settings.asker: ask,
            ARBITER: arbiter,
            AGGREGATOR: aggregator,
        }

        def listening(name: str, channel: RecordedChannel) -> Any:
            send = channel.send
            channel.send = lambda to, step, message: send(to, step, tamper(name, to, step, message))  # type: ignore[method-assign,misc]
            return roles[name](channel)

        keys = {name: PartyKey.generate() for name in settings.everyone}
        sessions = make_sessions(keys, run_id="predict", protocol="encrypted_model", job_digest=bytes(32))
        return play_in_process(
            {name: partial(session.play, role=partial(listening, name)) for name, session in sessions.items()}
        )


def train(kind: str = "binary", columns: int = 5, **training: Any) -> Trained:
    settings = make_settings(kind=kind, training={"rounds": 3, **training})
    tables = make_tables(SEED, columns=columns, kind=kind)
    facts: list[ModelFacts] = []
    played = play(settings, tables, on_facts=facts.append)
    held = {}
    for name in (ARBITER, AGGREGATOR):
        state = played.states[name][-1]
        held[name] = HeldShare(state.arrays[SHARE], state.arrays[TRANSCRIPT].tobytes(), state.rounds_done)
    model = played.results[OWNER]
    assert model is not None
    return Trained(settings, facts, held, model, tables)


@pytest.mark.parametrize(
    ("kind", "receiver", "momentum"), [("binary", None, 0.9), ("multiclass", SOUTH, 0.0), ("linear", SOUTH, 0.9)]
)
def test_scores_are_those_of_the_model(kind: str, receiver: str | None, momentum: float) -> None:
    trained = train(kind, momentum=momentum)
    results = trained.predict(5, receiver=receiver, most_rows=5)
    scores = results[receiver or NORTH]
    assert scores is not None
    expected = trained.model.scores(np.asarray(trained.tables[NORTH].features)[:5])
    unit = UNIT * (float(trained.facts[0].moments.spreads[-1]) if kind == "linear" else 1.0)
    # One unit of the cut, and columns rounded to 2^-16.
    assert scores.shape == expected.shape
    assert np.abs(scores - expected).max() <= 1.1 * unit
    assert (scores != scores[:1]).any()
    assert [name for name, result in results.items() if result is not None] == [receiver or NORTH]
    assert trained.counted == [5, 5, 5]  # asker, arbiter and aggregator


def test_so_many_scores_as_weights_tell_the_model_and_half_as_many_are_refused_by_default() -> None:
    trained = train(columns=4)
    table = trained.tables[NORTH]
    scores = trained.predict(5, most_rows=5)[NORTH]
    rows = np.column_stack([np.asarray(table.features)[:5], np.ones(5)])
    solved = np.linalg.solve(rows, scores)  # type: ignore[arg-type]
    weights = solved[:4] * trained.model.spreads[:, np.newaxis]
    known = trained.model.weights * trained.model.spreads[:, np.newaxis]
    assert np.corrcoef(weights.ravel(), known.ravel())[0, 1] > 0.99
    with ends(PolicyError, "so many scores may tell the model"):
        trained.predict(3)
    assert trained.predict(2)[NORTH] is not None
    assert [usual_rows(columns) for columns in (1, 2, 3, 4, 5)] == [0, 1, 1, 2, 2]


def test_a_row_tells_an_asker_that_lies_no_more_bits_than_a_score_has() -> None:
    """It multiplies two weights by 2^27 and 2^61, to read both off one number."""
    rng = np.random.default_rng(SEED)
    weights = rng.uniform(-1.9, 1.9, size=(2, 1))
    held = random_shares((2, 1))
    other = subtract(from_integers(np.rint(np.ldexp(weights, 32)).astype(np.int64)), held)
    layout = lay_out_scores(1, 2, 1)
    pair = generate_keys()
    encrypted = add_to_matrix(encrypt_matrix(pair.private, reduce_share(held), layout), reduce_share(other))
    lying = replace(layout, plain_bound=1 << 61)
    factors = np.array([[1 << 27, 1 << 61]])
    answer, own = multiply_masked(prepare_matrix(factors, lying), encrypted)
    opened = open_share(pair.private, replace(answer, layout=layout))
    # What both shares would tell unless the arbiter's was narrowed: two weights, to 2^-23 and better.
    number = signed_integers(add_shares(opened, reduce_share(own)))[0, 0] % (1 << 104)
    first = ((number >> 36) % (1 << 25) ^ 1 << 24) - (1 << 24)
    assert abs(first * 2.0**-23 - weights[0, 0]) < 2.0**-20
    told = cut_arbiter_share(opened)
    assert told.max() < 1 << OPENED_BITS
    assert OPENED_BITS == 24
    total = (int(told[0, 0]) + int(cut_asker_share(own)[0, 0])) % (1 << OPENED_BITS)
    assert abs(total - (number >> 36) % (1 << OPENED_BITS)) % ((1 << OPENED_BITS) - 1) <= 1


def test_a_score_beyond_the_range_is_refused_and_not_wrapped() -> None:
    unit = 1 << 12
    for number in (-1023, 0, 1023):
        shares = np.array([[7]], np.uint64), np.array([[(number * unit - 7) % (1 << OPENED_BITS)]], np.uint64)
        assert add_score_shares(*shares)[0, 0] == number
    for number in (-1024, 1024, 2000):
        shares = np.array([[7]], np.uint64), np.array([[(number * unit - 7) % (1 << OPENED_BITS)]], np.uint64)
        with pytest.raises(DivergedError, match="a score is out of range"):
            add_score_shares(*shares)


def test_rows_that_nobody_counts_are_not_scored() -> None:
    with pytest.raises(PolicyError, match="nothing counts them"):
        EncryptedModelRun(Stopwatch()).count_predictions(1)


@pytest.mark.parametrize("honest", [ARBITER, AGGREGATOR])
def test_an_asker_that_asks_for_more_is_refused_by_either_holder(honest: str) -> None:
    trained = train(columns=4)

    def lie(by: str, to: str, step: str, message: Any) -> Any:
        # To the other one it tells a number that is allowed.
        return replace(message, row_count=2) if step == "predict/call" and to != honest else message

    with ends(PolicyError, "so many scores may tell the model"):
        trained.predict(3, asked={"most_rows": 5}, tamper=lie)


def test_products_of_more_rows_than_were_called_do_not_open() -> None:
    trained = train(columns=4)

    def lie(by: str, to: str, step: str, message: Any) -> Any:
        return replace(message, row_count=1) if step == "predict/call" else message

    with ends(ProtocolError, "'north' sent numbers that cannot be"):
        trained.predict(2, tamper=lie)


CASES: dict[str, tuple[str, str, str, dict[str, Any], str]] = {
    "a key that is none": (ARBITER, NORTH, "key", {"public_key": b"x"}, "'notary' sent numbers that cannot be"),
    "a share of another run": (ARBITER, AGGREGATOR, "predict/share", {"transcript": bytes(32)}, "belong together"),
    "no share": (ARBITER, AGGREGATOR, "predict/share", {"values": b""}, "'notary' sent numbers that cannot be"),
    "no weights": (AGGREGATOR, NORTH, "weights", {"values": b""}, "'hub' sent numbers that cannot be"),
    "no products": (NORTH, ARBITER, "products", {"values": b""}, "'north' sent numbers that cannot be"),
    "a score's share": (
        ARBITER,
        NORTH,
        "score-share",
        {"share": np.zeros((4, 1), np.uint64)},
        "'notary' sent shares",
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_messages_that_cannot_be_end_a_prediction_by_name(what: str) -> None:
    sender, receiver, step, changes, match = CASES[what]

    def tamper(by: str, to: str, name: str, message: Any) -> Any:
        return replace(message, **changes) if (by, to) == (sender, receiver) and name.endswith(step) else message

    with ends(ProtocolError, match):
        train().predict(2, tamper=tamper)


def test_rows_that_cannot_be_scored_leave_nothing() -> None:
    trained = train()
    table = trained.tables[NORTH]
    for column, value, kind, match in (
        (1, 1e12, BoundError, "too far from the rows"),
        (2, np.nan, InputError, "x2"),
    ):
        features = np.array(table.features)[:2]
        features[0, column] = value
        with ends(kind, match):
            trained.predict(2, table=Table(features, None, table.feature_names, "new"))
    with ends(InputError, "rows do not fit the model"):
        trained.predict(2, table=Table(np.ones((2, 2)), None, ("a", "b"), "new"))
    assert trained.counted == []


def test_nobody_but_hosts_may_ask_or_receive() -> None:
    settings = make_settings()
    for changes in ({"asker": ARBITER}, {"asker": NORTH, "receiver": AGGREGATOR}, {"asker": NORTH, "most_rows": 0}):
        with pytest.raises(InputError, match=r"prediction\."):
            PredictionSettings(settings, **changes)  # type: ignore[arg-type]
