"""Form guest_layer: it trains what the shared form trains, in FATE's order of messages, and refuses what cannot be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.rehearsal import (
    GUEST,
    HOSTS,
    Rehearsal,
    ends,
    make_settings,
    make_tables,
    shared_weights,
)

from hekat.errors import JobError, ProtocolError, WireError
from hekat.protocol.shares.share_array import to_floats
from hekat.protocol.vertical_network.guest_layer.messages import HostOutputsMessage, NoisyGradientMessage
from hekat.protocol.vertical_network.guest_layer.noise import NOISE_BITS, draw_noise
from hekat.protocol.vertical_network.messages import (
    AnswerMessage,
    EpochEndMessage,
    FactorsMessage,
    FeatureSlopesMessage,
    StartMessage,
)

HOST = HOSTS[0]


def settings_of(hosts: int = 1, task: str = "binary", **changes: Any) -> Any:
    return make_settings(hosts, task, **({"form": "guest_layer", "host_bottom": "trained"} | changes))


@pytest.mark.quick_cases("none-1-multiclass")
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_it_trains_what_the_shared_form_trains(protection: str, hosts: int, task: str) -> None:
    """From the same parts, since no party knows the weights that a form begins with."""
    tables = make_tables(3, 150, (2, 3, 1)[: hosts + 1], task=task)
    training = {"validation_fraction": 0.2, "l2": 0.01, "epochs": 2}
    begin = Rehearsal(settings_of(hosts, task, form="shared", training={"epochs": 1}), tables).run()
    runs = {name: {"start_from": part} for name, part in begin.items()}
    found = {}
    for form, kind in (("shared", "none"), ("guest_layer", protection)):
        settings = settings_of(hosts, task, form=form, protection=kind, training=training)
        rehearsal = Rehearsal(settings, tables, runs=runs)
        parts = rehearsal.run()
        found[form] = rehearsal.records[GUEST], parts, rehearsal.predict(parts, tables)[GUEST]
    (shared_records, shared, shared_scores), (records, parts, scores) = found["shared"], found["guest_layer"]
    assert len(records) == 2
    for one, other in zip(records, shared_records, strict=True):
        assert one.loss == pytest.approx(other.loss, abs=1e-5)
        assert one.validation_loss == pytest.approx(other.validation_loss, abs=1e-5)
    for host in HOSTS[:hosts]:
        moved = np.abs(shared_weights(parts, host) - shared_weights(begin, host)).max()
        error = np.abs(shared_weights(parts, host) - shared_weights(shared, host)).max()
        assert error < 1e-5 < 1e-2 < moved
    np.testing.assert_allclose(scores, shared_scores, atol=1e-3 if task == "regression" else 1e-4)


def test_the_guest_holds_the_weights_and_hosts_the_keys() -> None:
    """Factors come from hosts alone: features twice and their accumulated noise; every host by itself."""
    settings = settings_of(2, protection="lattice", training={"epochs": 1})
    rehearsal = Rehearsal(settings, make_tables(3, 60, (2, 3, 2)))
    rehearsal.run()
    for host in settings.hosts:
        sent = {type(message) for to, _, message in rehearsal.sent[GUEST] if to == host}
        assert sent == {StartMessage, AnswerMessage, FeatureSlopesMessage, EpochEndMessage}
        steps = [step.split("/")[-1] for _, step, one in rehearsal.sent[host] if isinstance(one, FactorsMessage)]
        assert steps == ["factors", "features", "host-weights"]
    assert any("TO COMPARE" in note for note in rehearsal.notes[GUEST])


def test_noise_is_fresh_and_within_its_range() -> None:
    for rate_units in (1, 3277, 2**26):
        noise = [rate_units * to_floats(draw_noise((40, 30), rate_units), 64) for _ in range(2)]
        assert not (noise[0] == noise[1]).any()
        for one in noise:
            # 1,200 numbers: none in the outer tenth of either side with odds of 2^-88.
            assert 0.9 * 2 ** (NOISE_BITS - 1) < one.max() < 2**NOISE_BITS
            assert -(2**NOISE_BITS) <= one.min() < -0.9 * 2 ** (NOISE_BITS - 1)


def test_a_resumed_run_ends_where_the_whole_run_does() -> None:
    tables, settings = make_tables(4, 120, (2, 3)), settings_of(training={"epochs": 3})
    whole = Rehearsal(settings, tables)
    parts = whole.run()
    runs = {name: {"resume_from": states[0]} for name, states in whole.saved.items()}
    resumed = Rehearsal(settings, tables, runs=runs)
    again = resumed.run()
    assert [record.epoch for record in resumed.records[GUEST]] == [2, 3]
    np.testing.assert_allclose(shared_weights(again), shared_weights(parts), atol=1e-5)
    assert resumed.records[GUEST][-1].loss == pytest.approx(whole.records[GUEST][-1].loss, abs=1e-5)


@pytest.mark.parametrize("bottom", ["frozen", "source"])
def test_bottoms_of_hosts_train(bottom: str) -> None:
    with pytest.raises(JobError, match="FATE's form") as caught:
        settings_of(host_bottom=bottom)
    assert "form = 'shared'" in caught.value.cure
    with pytest.raises(JobError, match="reads the labels off its gradients"):
        settings_of(labels_accepted=None)


@pytest.mark.parametrize(
    ("kind", "change", "match"),
    [
        (HostOutputsMessage, lambda one: replace(one, share=one.share[:-1]), "outputs that cannot be"),
        (HostOutputsMessage, lambda one: replace(one, share=one.share | np.uint64(1 << 60)), "outputs that cannot be"),
        (NoisyGradientMessage, lambda one: replace(one, share=one.share[:-1]), "gradient that cannot be"),
        (NoisyGradientMessage, lambda one: replace(one, share=one.share[..., 0].copy()), "gradient that cannot be"),
        (FeatureSlopesMessage, lambda one: replace(one, share=one.share[:, :-1].copy()), "slopes of features"),
    ],
)
def test_numbers_of_another_shape_are_refused(kind: type, change: Any, match: str) -> None:
    with ends(ProtocolError, match):
        tampered(kind, change).run()


@pytest.mark.parametrize("kind", [FactorsMessage, AnswerMessage])
def test_matrices_that_miss_bytes_or_come_from_another_session_are_refused(kind: Any) -> None:
    with ends(WireError, "bytes"):
        tampered(kind, lambda one: kind(one.values[:-8]), protection="lattice").run()
    kept: list[Any] = []
    tampered(kind, lambda one: kept.append(one) or one, protection="lattice").run()
    with ends(WireError, "key"):
        tampered(kind, lambda one: kept[0], protection="lattice").run()


def tampered(kind: type, change: Any, **changes: Any) -> Rehearsal:
    """A run whose messages of one kind are changed on their way."""

    def tamper(sender: str, to: str, step: str, message: Any) -> Any:
        return change(message) if isinstance(message, kind) else message

    return Rehearsal(settings_of(**({"training": {"epochs": 1}} | changes)), make_tables(1, 60, (2, 3)), tamper=tamper)
