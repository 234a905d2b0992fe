"""Whole runs on shares: sparse columns, no protection, resume, warm start, an early stop, and what goes wrong."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import (
    BoundError,
    InputError,
    JobError,
    KeyRefusedError,
    PartyStoppedError,
    ProtocolError,
    StateError,
    WireVersionError,
)
from hekat.ledger import recorded_channel
from hekat.protocol.shares.share_array import add_shares, constant
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.shared_weights import training
from hekat.protocol.vertical_linear.shared_weights.messages import FactorsMessage, HelloMessage, LossShareMessage
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.scales import Scales
from hekat.protocol.vertical_linear.shared_weights.share_exactness import deposit_shares
from hekat.protocol.vertical_linear.training_settings import FixedPoint, LinearTraining
from hekat.wire.body import pack_body
from hekat.wire.frame import write_frame

UNIT = 2.0**-32


def test_sparse_columns_stay_sparse(run_of, tables_of, settings_of, opened, centralised, monkeypatch):
    from scipy.sparse import csr_array

    monkeypatch.setattr(csr_array, "toarray", lambda *_: pytest.fail("rows were made dense"))
    settings, tables = settings_of(), tables_of(4, columns=(6, 5), sparse=True)
    run = run_of(settings, tables, exactness_check=False)
    parts = run.run()
    monkeypatch.undo()
    expected, _ = centralised(settings, tables)
    assert np.abs(opened(parts) - expected).max() < 300 * UNIT
    assert b"gradients by residuals" in run.channels["bank"].ledger.data


@pytest.mark.long_cases("residuals")
def test_without_protection_the_model_is_the_same(run_of, tables_of, settings_of, opened, gradient_method):
    tables = tables_of(5)
    models = [opened(run_of(settings_of(protection=kind), tables).run()) for kind in ("paillier", "none")]
    assert np.abs(models[0] - models[1]).max() < 300 * UNIT


@pytest.mark.long
def test_a_resumed_run_ends_as_one_that_was_not_interrupted(run_of, tables_of, settings_of, opened):
    tables = tables_of(6)
    values = {"optimiser": "momentum", "optimiser_settings": {"momentum": 0.5, "decay": 0.01}, "learning_rate": 0.2}
    whole = run_of(settings_of(epochs=4, **values), tables)
    expected = opened(whole.run())
    first = run_of(settings_of(epochs=2, **values), tables)
    first.run()
    states = {name: saved[-1] for name, saved in first.saved.items()}
    assert {name: state.epochs_done for name, state in states.items()} == {"bank": 2, "shop": 2}
    states = {name: replace(state, finished=False) for name, state in states.items()}
    second = run_of(settings_of(epochs=4, **values), tables, resume_from=states)
    assert np.abs(opened(second.run()) - expected).max() < 1000 * UNIT
    assert [record.epoch for record in second.records["bank"]] == [3, 4]
    assert second.saved["bank"][-1].losses[:2] == first.saved["bank"][-1].losses
    assert second.saved["shop"][-1].losses == ()


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("step_count", None, r"no such step_count.*expected uint64 of shape \(\); got none"),
        ("step_count", np.zeros(1, np.uint64), r"no such step_count.*got shape \(1,\) of uint64"),
        ("step_count", np.array(3.0), "no such step_count.*of float64"),
        ("step_count", np.array(4, np.uint64), "other steps than its epochs have; expected 3; got 4"),
        ("weights", None, r"no such weights.*expected uint64 of shape \(6, 1, 2\); got none"),
        ("weights", np.zeros((6, 1, 2)), "no such weights.*of float64"),
        ("weights", np.zeros((5, 1, 2), np.uint64), r"no such weights.*got shape \(5, 1, 2\)"),
        ("velocity", None, "no such velocity.*got none"),
    ],
)
def test_a_damaged_state_is_refused(run_of, tables_of, settings_of, name, values, told):
    tables, settings = tables_of(6), settings_of(epochs=2, optimiser="momentum", learning_rate=0.1, protection="none")
    first = run_of(settings, tables, exactness_check=False)
    first.run()
    states = {party: saved[0] for party, saved in first.saved.items()}
    others = {key: array for key, array in states["shop"].arrays.items() if key != name}
    states["shop"] = replace(states["shop"], arrays=others if values is None else {**others, name: values})
    with pytest.raises(PartyStoppedError) as caught:
        run_of(settings, tables, exactness_check=False, resume_from=states).run()
    assert caught.value.party == "shop"
    cause = caught.value.__cause__
    assert isinstance(cause, StateError)
    assert re.search(told, str(cause))
    assert "begin anew" in cause.cure


def test_a_finished_run_resumes_to_its_own_model(run_of, tables_of, settings_of, opened):
    tables, settings = tables_of(6), settings_of(epochs=1)
    first = run_of(settings, tables)
    expected = opened(first.run())
    again = run_of(settings, tables, resume_from={name: saved[-1] for name, saved in first.saved.items()})
    assert np.array_equal(opened(again.run()), expected)
    assert not again.saved


@pytest.mark.long
def test_states_of_different_runs_do_not_meet(run_of, tables_of, settings_of):
    tables, settings = tables_of(6), settings_of(epochs=2)
    runs = [run_of(settings, tables, exactness_check=False) for _ in range(2)]
    for run in runs:
        run.run()
    states = {"bank": runs[0].saved["bank"][0], "shop": runs[1].saved["shop"][0]}
    with pytest.raises(PartyStoppedError, match="hold shares of different weights") as caught:
        run_of(settings, tables, resume_from=states).run()
    assert isinstance(caught.value.__cause__, ProtocolError)
    states = {"bank": runs[0].saved["bank"][0], "shop": runs[0].saved["shop"][1]}
    with pytest.raises(PartyStoppedError, match="another number of epochs done"):
        run_of(settings, tables, resume_from=states).run()
    with pytest.raises(PartyStoppedError, match="another number of epochs done"):
        run_of(settings, tables, resume_from={"bank": runs[0].saved["bank"][0]}).run()


@pytest.mark.long
def test_a_warm_start_goes_on_from_the_weights(run_of, tables_of, settings_of, opened):
    tables = tables_of(7)
    expected = opened(run_of(settings_of(epochs=3), tables).run())
    parts = run_of(settings_of(epochs=1), tables).run()
    start = {name: part.arrays for name, part in parts.items()}
    found = opened(run_of(settings_of(epochs=2), tables, start_from=start).run())
    assert np.abs(found - expected).max() < 1000 * UNIT
    with pytest.raises(PartyStoppedError, match="hold shares of different weights"):
        run_of(settings_of(epochs=2), tables, start_from={"bank": start["bank"]}).run()
    others = run_of(settings_of(epochs=1), tables).run()
    start["shop"] = others["shop"].arrays
    with pytest.raises(PartyStoppedError, match="parts of the same model"):
        run_of(settings_of(epochs=2), tables, start_from=start, exactness_check=False).run()


def test_a_warm_start_with_weights_of_another_form_or_size_is_refused(run_of, tables_of, settings_of):
    start = {"weights": np.zeros((3, 1)), "intercept": np.zeros(1)}
    with pytest.raises(PartyStoppedError, match="there are no such weight_shares") as caught:
        run_of(settings_of(), tables_of(7), start_from=dict.fromkeys(("bank", "shop"), start)).run()
    assert isinstance(caught.value.__cause__, InputError)
    parts = run_of(settings_of(epochs=1), tables_of(7)).run()
    start = {name: part.arrays for name, part in parts.items()}
    with pytest.raises(PartyStoppedError, match="there are no such weight_shares"):
        run_of(settings_of(), tables_of(7, columns=(4, 2)), start_from=start).run()


def test_the_guest_stops_by_the_loss_and_the_host_hears_of_it(run_of, tables_of, settings_of):
    run = run_of(settings_of(epochs=6, patience=1, min_improvement=10.0), tables_of(8))
    run.run()
    for name in ("bank", "shop"):
        assert [state.finished for state in run.saved[name]] == [False, True]
    assert len(run.saved["bank"][-1].losses) == 2


def test_training_that_diverges_is_told_from_the_loss(run_of, tables_of, settings_of, gradient_method):
    settings = settings_of(epochs=40, learning_rate=100.0)
    with pytest.raises(PartyStoppedError, match="training diverges") as caught:
        run_of(settings, tables_of(9), exactness_check=False).run()
    assert isinstance(caught.value.__cause__, BoundError)


def test_training_that_diverges_within_an_epoch_is_no_defect_to_the_check(run_of, tables_of, settings_of, monkeypatch):
    """60 steps of one epoch: sums of the Gram matrix pass the range of truncation long before the guest opens a
    loss."""
    monkeypatch.setattr(training, "prefers_gram", lambda *_: True)
    settings = settings_of(epochs=1, batch_rows=1, learning_rate=1000.0)
    with pytest.raises(PartyStoppedError, match=r"training diverges: gradients in epoch-1/batch-\d+") as caught:
        run_of(settings, tables_of(9)).run()
    cause = caught.value.__cause__
    assert isinstance(cause, BoundError)
    assert "learning_rate" in cause.cure


def test_a_wrong_gradient_is_a_defect_whatever_its_own_size(run_of, tables_of, settings_of, monkeypatch):
    def spoil(*arguments):
        *others, (weights, gradient) = arguments
        deposit_shares(*others, (weights, add_shares(gradient, constant(1 << 60))))

    monkeypatch.setattr(training, "deposit_shares", spoil)
    with pytest.raises(PartyStoppedError, match="this is a defect in Hekat"):
        run_of(settings_of(epochs=1, protection="none"), tables_of(9)).run()


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"learning_rate": 1e-11}, "training.learning_rate"),
        ({"learning_rate": 1e9}, "training.learning_rate"),
        ({"learning_rate": 0.1, "l2": 1e-12}, "training.l2"),
        ({"learning_rate": 1e300}, "training.learning_rate"),
        ({"learning_rate": 1e-5, "l2": 1e-5}, "training.learning_rate . l2"),
        (
            {"optimiser": "momentum", "optimiser_settings": {"momentum": 1e-10}},
            "training.optimiser_settings.momentum",
        ),
    ],
)
def test_factors_that_integers_cannot_hold_are_refused_by_the_settings(settings_of, values, name):
    with pytest.raises(JobError, match=f"{name} cannot be written") as caught:
        settings_of(**values)
    assert "protection.form = 'arbiter'" in caught.value.cure
    with_arbiter = replace(settings_of(), form="arbiter", arbiter="judge")
    replace(with_arbiter, training=LinearTraining(**values))


LATE = r"decay makes training.learning_rate( \* l2)? too small"


@pytest.mark.parametrize(
    "values",
    [
        {"learning_rate": 0.1, "optimiser_settings": {"decay": 1e7}},
        {"learning_rate": 0.1, "optimiser_settings": {"decay": 1e308}, "epochs": 100},
        {"learning_rate": 0.1, "l2": 1e-6, "optimiser_settings": {"decay": 1e3}},
        {"learning_rate": 0.1, "optimiser": "momentum", "optimiser_settings": {"decay": 1e8}},
    ],
)
def test_a_decay_that_leaves_no_factor_by_the_last_epoch_is_refused_by_the_settings(settings_of, values):
    values = {"epochs": 10, "batch_rows": 0} | values
    with pytest.raises(JobError, match=LATE) as caught:
        settings_of(**values)
    assert "the last of" in caught.value.expected
    assert "decay" in caught.value.cure
    replace(replace(settings_of(), form="arbiter", arbiter="judge"), training=LinearTraining(**values))
    settings_of(**values | {"epochs": 1})


def test_momentum_never_multiplies_the_rate_by_l2(settings_of):
    """Neither number is too small for an integer, but their product is: it is refused where it is made."""
    values = {"learning_rate": 1e-4, "l2": 1e-6}
    taken = settings_of(**values, optimiser="momentum").training
    assert (taken.optimiser, taken.learning_rate, taken.l2) == ("momentum", 1e-4, 1e-6)
    with pytest.raises(JobError, match=r"training.learning_rate \* l2 cannot be written") as caught:
        settings_of(**values)
    assert caught.value.got == "a smaller one"
    for name in values:
        with pytest.raises(JobError, match=rf"training.{name} cannot be written"):
            settings_of(**values | {name: 1e-10}, optimiser="momentum")


def test_a_decay_that_leaves_no_factor_after_all_batches_is_refused_when_training_begins(
    run_of, tables_of, settings_of
):
    values = {"learning_rate": 0.1, "optimiser_settings": {"decay": 4e6}, "protection": "none"}
    settings = settings_of(epochs=3, batch_rows=20, **values)
    run_of(settings_of(epochs=3, batch_rows=60, **values), tables_of(9)).run()
    run = run_of(settings, tables_of(9))
    with pytest.raises(PartyStoppedError, match=LATE) as caught:
        run.run()
    assert isinstance(caught.value.__cause__, JobError)
    assert "the last of 9" in caught.value.__cause__.expected
    assert run.records["bank"] == []


def test_a_learning_rate_is_said_in_one_place_alone(settings_of):
    with pytest.raises(JobError, match="says the learning rate again"):
        settings_of(optimiser_settings={"learning_rate": 0.2})


def test_scales_that_leave_no_room_are_refused():
    fine, coarse = (Scales(FixedPoint(*bits), "logistic") for bits in ((16, 32), (30, 40)))
    fine.check(10**6, 10**6)
    coarse.check(10**6, 4000)
    with pytest.raises(BoundError, match="do not fit into 128 bits"):
        coarse.check(10**6, 10**4)


def test_features_too_large_for_shares_are_refused(run_of, tables_of, settings_of):
    tables = tables_of(9)
    features = np.array(tables["bank"].features)
    features[:, 0] *= 1e5
    run = run_of(settings_of(standardise=False), {**tables, "bank": replace(tables["bank"], features=features)})
    with pytest.raises(PartyStoppedError, match="features of bank are too large for shares") as caught:
        run.run()
    assert isinstance(caught.value.__cause__, BoundError)


def test_a_party_of_a_release_with_other_slots_is_refused(run_of, settings_of, tables_of, gradient_method, monkeypatch):
    """Messages of the other release have the same fields, so both would misread each other's plaintexts."""
    write = recorded_channel.to_bytes

    def write_as_before(message):
        if isinstance(message, FactorsMessage):
            return write_frame("vertical-shared/factors", 1, pack_body({"ciphertexts": message.ciphertexts}))
        return write(message)

    monkeypatch.setattr(recorded_channel, "to_bytes", write_as_before)
    with pytest.raises(PartyStoppedError, match="version of vertical-shared/factors not known") as caught:
        run_of(settings_of(), tables_of(12), exactness_check=False).run()
    assert isinstance(caught.value.__cause__, WireVersionError)


def test_other_rows_are_refused_before_anything_is_computed(run_of, tables_of, settings_of):
    tables = {"bank": tables_of(9)["bank"], "shop": tables_of(9, rows=50)["shop"]}
    with pytest.raises(PartyStoppedError, match="comes with other rows"):
        run_of(settings_of(), tables).run()


def test_a_host_with_labels_is_refused(run_of, tables_of, settings_of):
    tables = tables_of(9)
    with pytest.raises(PartyStoppedError, match="label"):
        run_of(settings_of(), {**tables, "shop": replace(tables["shop"], labels=tables["bank"].labels)}).run()


def test_keys_of_another_size_or_the_same_at_both_are_refused(run_of, tables_of, settings_of, paillier_keys, key_pairs):
    small = {**key_pairs, "shop": paillier_keys[3072][0]}
    with pytest.raises(PartyStoppedError, match="not the job's") as caught:
        run_of(settings_of(), tables_of(9), keys=small).run()
    assert isinstance(caught.value.__cause__, KeyRefusedError)
    same = dict.fromkeys(key_pairs, key_pairs["bank"])
    with pytest.raises(PartyStoppedError, match="came with the key of"):
        run_of(settings_of(), tables_of(9), keys=same).run()


def test_a_key_that_is_no_modulus_is_refused(run_of, tables_of, settings_of):
    def host(channel, table, settings, run):
        channel.send("bank", "hello", HelloMessage(b"no key", 60, 2, False, 0, b""))
        channel.receive("bank", "hello", HelloMessage)

    with pytest.raises(PartyStoppedError, match="bank"):
        run_of(settings_of(), tables_of(9), stand_ins={"shop": host}).run()


@pytest.mark.parametrize("count", [-1, 0, 2**22 + 1, 2**62])
def test_columns_that_cannot_be_are_refused_before_memory_is_taken(run_of, tables_of, settings_of, count):
    def host(channel, table, settings, run):
        channel.send("bank", "hello", HelloMessage(b"", 60, count, False, 0, b""))
        channel.receive("bank", "hello", HelloMessage)

    run = run_of(settings_of(protection="none"), tables_of(9), stand_ins={"shop": host})
    with pytest.raises(PartyStoppedError, match="shop comes with columns that cannot be") as caught:
        run.run()
    assert isinstance(caught.value.__cause__, ProtocolError)


def test_a_loss_share_of_another_shape_is_refused(run_of, tables_of, settings_of, monkeypatch):
    from hekat.protocol.vertical_linear.shared_weights import host

    monkeypatch.setattr(host, "LossShareMessage", lambda share: LossShareMessage(share=np.zeros((3, 2), np.uint64)))
    with pytest.raises(PartyStoppedError, match="sent no share of the loss"):
        run_of(settings_of(), tables_of(9)).run()


@pytest.mark.long
@pytest.mark.parametrize("leaver", ["bank", "shop"])
def test_a_party_that_leaves_in_mid_epoch_loses_nothing_saved(run_of, tables_of, settings_of, opened, leaver):
    tables, settings = tables_of(10), settings_of(epochs=3)

    class Leaving:
        def __init__(self, channel):
            self._channel = channel

        def __getattr__(self, name):
            return getattr(self._channel, name)

        def send(self, to, step, message):
            if self._channel.party == leaver and step.startswith("epoch-2/batch-2"):
                raise JobError("the machine goes down")
            return self._channel.send(to, step, message)

    run = run_of(settings, tables, wrap=Leaving)
    with pytest.raises(PartyStoppedError, match=leaver):
        run.run()
    states = {name: saved[-1] for name, saved in run.saved.items()}
    assert {name: state.epochs_done for name, state in states.items()} == {"bank": 1, "shop": 1}
    resumed = opened(run_of(settings, tables, resume_from=states).run())
    assert np.abs(resumed - opened(run_of(settings, tables).run())).max() < 1000 * UNIT


@pytest.mark.parametrize(
    ("guest_columns", "host_columns", "rows", "epochs", "feature_bits", "kept"),
    [
        (13, 10, 1024, 1, 16, True),
        (13, 10, 128, 10, 16, True),
        (13, 10, 256, 1, 20, True),
        (200, 200, 1024, 1, 16, False),
        (13, 10, 32, 100, 16, False),
        (200, 200, 64, 100, 16, False),
        (13, 10, 1024, 10, 24, False),  # beyond 95 bits before truncation
    ],
)
def test_products_are_kept_where_that_is_cheaper_and_fits(
    guest_columns, host_columns, rows, epochs, feature_bits, kept
):
    scales = Scales(FixedPoint(feature_bits=feature_bits), "logistic")
    pair = Pair(True, guest_columns, host_columns, 1, 2048, None, None, scales, Stopwatch())
    assert training.prefers_gram(pair, [np.arange(rows)] * 3, epochs) == kept
