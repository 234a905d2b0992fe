"""Validation on rows that every party holds out: metrics of the pooled rows, the stop rule, what it must not touch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.codec.counters import counter_slots, decode_counter_sums, encode_counters, plain_counters
from hekat.data import Table
from hekat.engine.limbs import ints_from_limbs
from hekat.errors import InputError, PartyStoppedError
from hekat.model import evaluate
from hekat.protocol.horizontal.settings import ModelSettings, TrainingSettings
from hekat.protocol.horizontal.training import loop as training_module
from hekat.protocol.horizontal.training.local_run import LocalRun, build_model
from hekat.protocol.horizontal.training.loop import train
from hekat.protocol.horizontal.training.standardise import Standardiser
from hekat.protocol.horizontal.training.validation import Validation, ValidationState, hold_out
from hekat.protocol.horizontal.training.validation_counts import MAX_LABEL, SUM_UNITS
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.secure_sum.aggregation import Alone
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.protocol.stopwatch import Stopwatch

HALF = ValidationSettings(hold_out=0.5)
FEDAVG = TrainingSettings(algorithm="fedavg", round_count=3, batch_rows=8, local_epochs=2, seed=6)
MODELS = {"two classes": ModelSettings(), "three classes": ModelSettings(), "number": ModelSettings("linear")}


def settings_with(settings_of, validation: ValidationSettings, **others):
    return replace(settings_of(**others), validation=validation)


def pooled_rows(settings, tables) -> tuple[np.ndarray, np.ndarray]:
    held = [hold_out(tables[party], settings)[1] for party in settings.parties]
    return np.concatenate([table.features for table in held]), np.concatenate([table.labels for table in held])


def pooled_metrics(settings, tables, state) -> dict[str, float]:
    """What evaluating the state's model at one place says of all held-out rows."""
    features, labels = pooled_rows(settings, tables)
    model = build_model(settings, features.shape[1])
    found = evaluate(model, state.parameters, state.standardiser.apply(features), labels)
    return {"rows": len(labels), **found}


def assert_equal_metrics(found: dict[str, float], expected: dict[str, float], party_count: int) -> None:
    """Counts exactly, losses to half a unit a party and the rounding of floats, the AUC to what it says of itself."""
    assert found["rows"] == expected["rows"]
    if "rmse" in expected:
        assert found["rmse"] == pytest.approx(expected["rmse"], rel=1e-12)
        return
    assert found["accuracy"] == expected["accuracy"]
    allowed = party_count / (2 * SUM_UNITS * found["rows"]) + 1e-13 * expected["log_loss"]
    assert abs(found["log_loss"] - expected["log_loss"]) <= allowed
    assert ("auc" in found) == ("auc" in expected)
    if "auc" in found:
        assert abs(found["auc"] - expected["auc"]) <= found["auc_error"] + 1e-12


@pytest.mark.quick_cases("paillier-number", "none-three classes")
@pytest.mark.parametrize("task", MODELS)
@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_metrics_are_those_of_the_pooled_rows(protection, task, rehearse, tables_of, settings_of) -> None:
    tables = tables_of(31, task=task, rows=(24, 9, 40))
    settings = settings_with(settings_of, HALF, training=FEDAVG, protection=protection, task=task, model=MODELS[task])
    rehearsal = rehearse(settings, tables)
    state = rehearsal.run()
    # The model at the start of a round is that of the end of the one before; the first is the model's own.
    for record, before in zip(rehearsal.records[1:], rehearsal.saved, strict=False):
        assert_equal_metrics(record.validation, pooled_metrics(settings, tables, before), 3)
    first = state.copy()
    first.parameters = build_model(settings, 4).init(settings.model.seed)
    assert_equal_metrics(rehearsal.records[0].validation, pooled_metrics(settings, tables, first), 3)
    assert_equal_metrics(state.validation.final, pooled_metrics(settings, tables, state), 3)
    assert state.validation.by_round == {record.round: record.validation for record in rehearsal.records}
    if task == "number":
        assert state.validation.final["r2"] == pytest.approx(pooled_metrics(settings, tables, state)["r2"], abs=1e-10)
        assert "r2" not in rehearsal.records[0].validation
    assert rehearsal.records[0].row_count == sum(len(hold_out(table, settings)[0]) for table in tables.values())


@pytest.mark.parametrize("task", MODELS)
def test_held_out_rows_touch_no_bit_of_the_model(task, rehearse, tables_of, settings_of, monkeypatch) -> None:
    """Neither their labels nor their features: with others in their place training ends with the same bytes."""
    tables = tables_of(33, task=task)
    settings = settings_with(settings_of, HALF, training=FEDAVG, protection="none", task=task, model=MODELS[task])
    state = rehearse(settings, tables).run()

    def hold_out_strangers(table: Table, chosen) -> tuple[Table, Table]:
        kept, held = hold_out(table, chosen)
        others = np.roll(held.labels, 1) if task != "number" else -3.0 * held.labels
        return kept, Table(held.features[::-1] * 1.5, others, held.feature_names, held.name)

    monkeypatch.setattr(training_module, "hold_out", hold_out_strangers)
    other = rehearse(settings, tables).run()
    for name, values in state.parameters.items():
        assert values.tobytes() == other.parameters[name].tobytes()
    assert state.standardiser.mean.tobytes() == other.standardiser.mean.tobytes()
    assert state.validation.final != other.validation.final


def test_the_stop_rule_reads_the_validation_loss(rehearse, tables_of, settings_of) -> None:
    """Labels without sense: training loss falls round by round, the loss on rows it never saw rises at once."""
    rng = np.random.default_rng(35)
    tables = {name: replace(table, labels=rng.integers(0, 2, len(table))) for name, table in tables_of(35).items()}
    training = replace(FEDAVG, round_count=40, patience=3, min_improvement=0.0, learning_rate=0.5, local_epochs=5)
    settings = settings_with(settings_of, HALF, training=training, protection="none", model=ModelSettings("mlp", (8,)))
    rehearsal = rehearse(settings, tables)
    state = rehearsal.run()
    assert state.finished
    assert state.rounds_done < 40
    assert state.losses[-1] == min(state.losses)
    losses = [record.validation["log_loss"] for record in rehearsal.records]
    assert min(losses[-3:]) >= min(losses[:-3])
    assert all(min(losses[end - 3 : end]) < min(losses[: end - 3]) for end in range(4, len(losses)))
    assert state.validation.final is not None
    # Without rows held out the same training goes on: its own loss falls.
    without = rehearse(replace(settings, validation=ValidationSettings()), tables).run()
    assert without.rounds_done > state.rounds_done


def test_patience_counts_validations(rehearse, tables_of, settings_of) -> None:
    training = replace(FEDAVG, round_count=20, patience=2, learning_rate=1e-12)
    settings = settings_with(settings_of, replace(HALF, every=3), training=training, protection="none")
    rehearsal = rehearse(settings, tables_of(37))
    state = rehearsal.run()
    # Validated at the start of rounds 1, 4 and 7: the third of them says that two brought nothing.
    assert [record.round for record in rehearsal.records if record.validation] == [1, 4, 7]
    assert state.rounds_done == 7
    assert state.finished


@pytest.mark.long_cases("paillier")
@pytest.mark.parametrize("protection", ["none", "paillier"])
def test_a_resumed_run_equals_one_that_was_not_interrupted(protection, rehearse, tables_of, settings_of) -> None:
    training = replace(FEDAVG, round_count=4, patience=3, min_improvement=0.0)
    settings = settings_with(settings_of, replace(HALF, every=2), training=training, protection=protection)
    tables = tables_of(39)
    whole = rehearse(settings, tables)
    state = whole.run()
    assert [saved.sums_done for saved in whole.saved] == [1, 2, 3, 4, 5]
    for earlier in whole.saved[:-1]:
        again = rehearse(settings, tables, resume_from=earlier).run()
        assert again.validation.by_round == state.validation.by_round
        assert again.validation.final == state.validation.final
        np.testing.assert_array_equal(again.validation.edges, state.validation.edges)
        for name, values in state.parameters.items():
            assert values.tobytes() == again.parameters[name].tobytes()


def test_a_run_that_stopped_before_its_last_validation_is_resumed_for_it(rehearse, tables_of, settings_of) -> None:
    training = replace(FEDAVG, round_count=9, patience=1, learning_rate=1e-12)
    settings = settings_with(settings_of, HALF, training=training, protection="none")
    whole = rehearse(settings, tables_of(41))
    state = whole.run()
    ended = whole.saved[-2]
    assert ended.finished
    assert ended.validation.final is None
    resumed = rehearse(settings, tables_of(41), resume_from=ended)
    assert resumed.run().validation.final == state.validation.final
    assert resumed.records == []


@pytest.mark.long
def test_lanes_grow_by_what_is_counted_and_by_nothing_else(rehearse, tables_of, settings_of) -> None:
    tables = tables_of(43)
    plain = settings_of(training=replace(FEDAVG, round_count=1), weight_max=64)
    without = rehearse(plain, tables)
    without.run()
    level = 2**15 - 1
    scores = {
        ValidationSettings(hold_out=0.2): 2 * 64,
        ValidationSettings(hold_out=0.2, bins=10): 2 * 10,
        ValidationSettings(hold_out=0.2, auc=False): 0,
    }
    for validation, bins in scores.items():
        rehearsal = rehearse(replace(plain, validation=validation), tables)
        rehearsal.run()
        # Rows, hits and bins take a lane each; a sum of losses up to 2^60 a row in units of 2^-80 takes sixteen.
        extra = counter_slots([64, 64, 2**60 * SUM_UNITS * 64], level) + bins
        assert extra == 2 + 16 + bins
        assert rehearsal.packing.lane_count == without.packing.lane_count + extra
    every = rehearse(
        replace(plain, training=replace(plain.training, round_count=2), validation=ValidationSettings(0.2, every=2)),
        tables,
    )
    every.run()
    assert every.packing.lane_count == without.packing.lane_count


def test_parties_with_one_class_or_three_rows_take_part(rehearse, tables_of, settings_of) -> None:
    tables = tables_of(45, rows=(24, 3, 40))
    tables["a"] = replace(tables["a"], labels=np.zeros(24, dtype=np.int64))
    settings = settings_with(settings_of, ValidationSettings(hold_out=0.2), training=FEDAVG, protection="none")
    state = rehearse(settings, tables).run()
    assert state.validation.final["rows"] == 5 + 1 + 8
    assert_equal_metrics(state.validation.final, pooled_metrics(settings, tables, state), 3)


def test_a_class_that_nobody_holds_out_leaves_the_auc_out(rehearse, tables_of, settings_of) -> None:
    tables = {name: replace(t, labels=np.zeros(len(t), dtype=np.int64)) for name, t in tables_of(47).items()}
    settings = settings_with(settings_of, HALF, training=FEDAVG, protection="none")
    final = rehearse(settings, tables).run().validation.final
    assert set(final) == {"rows", "accuracy", "log_loss"}


def test_a_party_of_two_rows_is_refused_by_name(rehearse, tables_of, settings_of) -> None:
    settings = settings_with(settings_of, HALF, protection="none")
    with pytest.raises(PartyStoppedError) as caught:
        rehearse(settings, tables_of(49, rows=(24, 2, 40))).run()
    assert "b cannot be split" in str(caught.value)


def test_a_label_too_large_for_the_sums_is_refused(rehearse, tables_of, settings_of) -> None:
    tables = tables_of(51, task="number")
    tables["c"] = replace(tables["c"], labels=np.full(40, 1.2 * MAX_LABEL))
    settings = settings_with(
        settings_of, HALF, protection="none", task="number", model=ModelSettings("linear"),
        training=replace(FEDAVG, learning_rate=1e-12),
    )  # fmt: skip
    with pytest.raises(PartyStoppedError, match="'c' stopped") as caught:
        rehearse(settings, tables).run()
    assert "a label is too large" in str(caught.value)


def test_a_loss_beyond_every_bound_is_an_error_and_no_wrap(rehearse, tables_of, settings_of, monkeypatch) -> None:
    def hold_out_far(table: Table, settings) -> tuple[Table, Table]:
        kept, held = hold_out(table, settings)
        return kept, replace(held, features=held.features * 1e14)

    monkeypatch.setattr(training_module, "hold_out", hold_out_far)
    settings = settings_with(settings_of, HALF, protection="none", task="number", model=ModelSettings("linear"))
    with pytest.raises(PartyStoppedError) as caught:
        rehearse(settings, tables_of(53, task="number")).run()
    assert "no usable loss on the held-out rows" in str(caught.value)


def test_alone_a_party_validates_on_its_own_rows(tables_of, settings_of) -> None:
    table = tables_of(55)["c"]
    settings = settings_with(settings_of, HALF, training=FEDAVG)
    run = LocalRun(Stopwatch(), lambda record, state: None, lambda state: None)
    state = train(Alone(), table, settings, run, party="c")
    assert state.validation.final["rows"] == 20
    kept, held = hold_out(table, settings)
    model = build_model(settings, 4)
    found = evaluate(model, state.parameters, state.standardiser.apply(held.features), held.labels)
    assert_equal_metrics(state.validation.final, {"rows": 20, **found}, 1)
    assert len(kept) == 20


def test_one_bit_lanes_carry_the_counts_too(rehearse, tables_of, settings_of) -> None:
    tables = tables_of(57)
    codec = CodecSettings(value_bits=1, clipping="fixed", alpha=1.0)
    settings = settings_with(settings_of, replace(HALF, bins=8), training=replace(FEDAVG, round_count=1), codec=codec)
    state = rehearse(settings, tables).run()
    assert_equal_metrics(state.validation.final, pooled_metrics(settings, tables, state), 3)


@pytest.mark.parametrize(
    ("wrong", "task", "named"),
    [
        (ValidationSettings(hold_out=0.91), "two classes", "hold_out"),
        (ValidationSettings(hold_out=-0.1), "two classes", "hold_out"),
        (ValidationSettings(hold_out=float("nan")), "two classes", "hold_out"),
        (ValidationSettings(every=2), "two classes", "hold_out"),
        (ValidationSettings(auc=True), "two classes", "hold_out"),
        (ValidationSettings(bins=32), "two classes", "hold_out"),
        (ValidationSettings(hold_out=0.2, every=0), "two classes", "every"),
        (ValidationSettings(hold_out=0.2, bins=1), "two classes", "bins"),
        (ValidationSettings(hold_out=0.2, bins=5000), "two classes", "bins"),
        (ValidationSettings(hold_out=0.2, auc=False, bins=32), "two classes", "bins"),
        (ValidationSettings(hold_out=0.2, auc=True), "number", "auc"),
        (ValidationSettings(hold_out=0.2, bins=32), "number", "bins"),
    ],
)
def test_settings_that_cannot_be_or_have_no_effect(wrong, task, named, settings_of) -> None:
    model = MODELS[task]
    with pytest.raises(InputError, match=rf"setting validation\.{named} refused"):
        settings_with(settings_of, wrong, task=task, model=model)


def test_bins_for_very_many_classes_are_refused(settings_of) -> None:
    many = replace(settings_of(), classes=tuple(f"class {number}" for number in range(600)))
    with pytest.raises(InputError, match=r"setting validation\.bins refused"):
        replace(many, validation=ValidationSettings(hold_out=0.2))
    assert replace(many, validation=ValidationSettings(hold_out=0.2, bins=16)).validation.bins == 16


def test_parties_with_other_bins_count_under_other_names(tables_of, settings_of) -> None:
    """Under `lattice` names are agreed on with every upload: a party with bins of its own is in no sum."""
    settings = settings_with(settings_of, replace(HALF, bins=4), training=FEDAVG)
    model, table = build_model(settings, 4), tables_of(59)["a"]
    standardiser = Standardiser(np.zeros(4), np.ones(4))
    names = []
    for shift in (0, 1):
        state = ValidationState(edges=np.array([[shift, 5, 9]]))
        validation = Validation(model, table, standardiser, settings, state, Stopwatch())
        names.append([counter.name for counter in validation.counters_for(1, model.init(0))])
    assert names[0] != names[1]
    assert len(names[0]) == len(set(names[0])) == 3 + 2 * 4


@pytest.mark.parametrize("task", MODELS)
def test_sums_of_the_largest_counts_fit_where_nothing_is_encrypted(task, tables_of, settings_of) -> None:
    """256 parties at the largest weight_max, each at every counter's maximum: exact in lanes and in plain limbs."""
    tables = tables_of(31, task=task)
    settings = settings_with(settings_of, HALF, task=task, model=MODELS[task], weight_max=2**40 - 1)
    table = hold_out(tables[settings.parties[0]], settings)[1]
    model = build_model(settings, table.features.shape[1])
    still = Standardiser(np.zeros(table.features.shape[1]), np.ones(table.features.shape[1]))
    validation = Validation(model, table, still, settings, ValidationState(), Stopwatch())
    counters = validation._count(model.init(0), final=True)
    maxima = [counter.maximum for counter in counters]
    sums = [256 * maximum for maximum in maxima]
    assert ints_from_limbs(plain_counters(sums)) == sums
    digits = 256 * encode_counters(maxima, maxima, 32767)
    assert decode_counter_sums(digits, maxima, 32767, 256) == sums
    assert max(total.bit_length() for total in sums) == 188
