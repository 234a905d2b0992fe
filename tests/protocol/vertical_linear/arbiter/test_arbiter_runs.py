"""Whole runs with an arbiter equal centralised training, the run in the clear, and a resumed run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.data import Table
from hekat.protocol.vertical.columns import prepare_columns
from hekat.protocol.vertical_linear.columns import prepare_targets
from hekat.protocol.vertical_linear.fixed_point import decode_features, encode_features
from hekat.protocol.vertical_linear.loss_bits import told_loss_bits
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS, residual_of, train_centralised


def centralised(job, tables):
    """Every step of centralised training on the joined columns, rounded as the parties round them."""
    columns = []
    for party in job.parties:
        prepared = prepare_columns(
            tables[party], standardise=job.training.standardise, limit_spreads=job.limit_spreads
        ).features
        rounded = decode_features(encode_features(prepared, job.fixed_point, party), job.fixed_point)
        columns.append(rounded if isinstance(rounded, np.ndarray) else rounded.toarray())
    targets = prepare_targets(tables[job.guest], job).values
    return list(train_centralised(np.hstack(columns), targets, job.task, job.training))


def joined(parts, job):
    """The weights of all parties as one array, and the intercept."""
    weights = np.vstack([parts[party].arrays[WEIGHTS] for party in job.parties])
    return weights, parts[job.guest].arrays[INTERCEPT]


def check_equals_centralised(rehearsal, parts) -> None:
    job = rehearsal.settings
    steps = centralised(job, rehearsal.tables)
    weights, intercept = joined(parts, job)
    # Each step is off by 2^-33 a party; l1 and adaptive steps aside, no step makes much more of it.
    np.testing.assert_allclose(weights, steps[-1].parameters[WEIGHTS], rtol=0, atol=1e-7)
    np.testing.assert_allclose(intercept, steps[-1].parameters[INTERCEPT], rtol=0, atol=1e-7)
    for record in rehearsal.records[job.guest]:
        of_epoch = [step.loss for step in steps if step.epoch == record.epoch and step.batch >= 0]
        assert record.loss == pytest.approx(np.mean(of_epoch), abs=1e-5 + loss_unit(rehearsal))


def loss_unit(rehearsal) -> float:
    """How finely the guest is told the losses of a run."""
    job = rehearsal.settings
    bits = told_loss_bits(len(rehearsal.tables[job.guest]), job.training.epochs)
    return residual_of(job.task).loss_factor * 2.0**-bits


def check_same_records(run, clear) -> None:
    """Equal records, except that a loss told under a mask may be a unit above the loss told in the clear."""
    losses, others = ([record.loss for record in one.records["bank"]] for one in (clear, run))
    above = np.subtract(others, losses) / loss_unit(clear)
    assert np.abs(above - np.rint(above)).max() < 1e-4
    assert set(np.rint(above)) <= {0.0, 1.0}
    bare = [
        {party: [replace(record, loss=None) for record in records] for party, records in one.records.items()}
        for one in (clear, run)
    ]
    assert bare[0] == bare[1]


def check_same(parts, others) -> None:
    assert parts.keys() == others.keys()
    for party, part in parts.items():
        if part is None:
            assert others[party] is None
            continue
        assert part.arrays.keys() == others[party].arrays.keys()
        for name, values in part.arrays.items():
            assert np.array_equal(values, others[party].arrays[name]), (party, name)


@pytest.mark.quick_cases(
    "lattice-1-number",
    "paillier-3-two classes",
    "paillier-1-three classes",
    "paillier-3-number",
    "lattice-1-two classes",
)
@pytest.mark.parametrize("task", ["two classes", "three classes", "number"])
@pytest.mark.parametrize("host_count", [1, 3])
@pytest.mark.parametrize("protection", ["paillier", "lattice"])
def test_a_run_equals_centralised_training_and_the_run_in_the_clear(
    rehearse, settings_of, tables_of, task: str, host_count: int, protection: str
) -> None:
    tables = tables_of(1, columns=(3, 2, 1, 2)[: host_count + 1], task=task)
    run = rehearse(settings_of(host_count=host_count, task=task, l2=0.01, protection=protection), tables)
    parts = run.run()
    assert [check.step for check in run.exactness_check.checks] == [
        f"epoch-{e}/batch-{b}" for e in (1, 2) for b in (1, 2, 3)
    ]
    assert all(check.largest_error <= check.bound < 1e-4 for check in run.exactness_check.checks)
    check_equals_centralised(run, parts)
    assert len({part.model_id for part in parts.values() if part is not None}) == 1
    plain = rehearse(settings_of(host_count=host_count, task=task, l2=0.01, protection="none"), tables)
    check_same(parts, plain.run())
    check_same_records(run, plain)


def test_every_role_says_the_same_of_epochs(rehearse, settings_of, tables_of) -> None:
    run = rehearse(settings_of(), tables_of(1))
    run.run()
    guest, host, arbiter = (run.records[name] for name in ("bank", "shop", "judge"))
    assert [record.epoch for record in guest] == [record.epoch for record in host] == [1, 2]
    assert all(record.loss is None for record in [*host, *arbiter])
    assert all(record.gradient_error_bound is None for record in arbiter)
    assert all(0 < record.gradient_error_bound < 1e-8 for record in [*guest, *host])
    assert all(state.losses == () for state in run.saved["shop"])
    assert run.saved["bank"][-1].losses == tuple(record.loss for record in guest)


@pytest.mark.parametrize("optimiser", ["momentum", "adam", "rmsprop"])
def test_all_optimisers_move_as_in_centralised_training(rehearse, settings_of, tables_of, optimiser: str) -> None:
    training = {"optimiser": optimiser, "learning_rate": 0.05, "epochs": 3, "l1": 0.001}
    run = rehearse(settings_of(protection="none", **training), tables_of(2))
    check_equals_centralised(run, run.run())


@pytest.mark.parametrize("protection", ["paillier", "lattice", "none"])
def test_sparse_columns_give_what_dense_ones_give(rehearse, settings_of, tables_of, protection: str) -> None:
    sparse = tables_of(3, sparse=True)
    job = settings_of(protection=protection, standardise=False, learning_rate=1e-5)
    dense = {
        name: Table(table.features.toarray(), table.labels, table.feature_names, table.name)
        for name, table in sparse.items()
    }
    first = rehearse(job, sparse)
    parts = first.run()
    check_equals_centralised(first, parts)
    check_same(parts, rehearse(replace(job, protection="none"), dense).run())


def test_sparse_columns_are_scaled_and_trained(rehearse, settings_of, tables_of) -> None:
    run = rehearse(settings_of(), tables_of(4, sparse=True))
    check_equals_centralised(run, run.run())


@pytest.mark.long
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(4, 40),
    columns=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    task=st.sampled_from(["two classes", "three classes", "number"]),
    batch_rows=st.integers(0, 30),
    skew=st.floats(-6, 6),
    ties=st.booleans(),
)
@settings(max_examples=15)
def test_any_run_in_the_clear_equals_centralised_training(
    rehearse, settings_of, seed, rows, columns, task, batch_rows, skew, ties
) -> None:
    """Random data, party counts, skewed scales, tied values: the integers are those of the encrypted run."""
    run = make_any_run(rehearse, settings_of, "none", seed, rows, columns, task, batch_rows, skew, ties)
    check_equals_centralised(run, run.run())
    assert all(check.largest_error <= check.bound for check in run.exactness_check.checks)


@pytest.mark.long
@given(
    seed=st.integers(0, 2**32),
    columns=st.lists(st.integers(1, 3), min_size=2, max_size=4),
    task=st.sampled_from(["two classes", "three classes", "number"]),
    skew=st.floats(-6, 6),
)
@settings(max_examples=4)
def test_any_encrypted_run_equals_the_run_in_the_clear(rehearse, settings_of, seed, columns, task, skew) -> None:
    clear, *encrypted = (
        make_any_run(rehearse, settings_of, protection, seed, 17, columns, task, 9, skew, False)
        for protection in ("none", "paillier", "lattice")
    )
    parts = clear.run()
    for run in encrypted:
        check_same(run.run(), parts)
        check_same_records(run, clear)


@pytest.mark.long
@pytest.mark.parametrize(("protection", "count"), [("none", 400), ("paillier", 40), ("lattice", 80)])
def test_many_runs_equal_centralised_training(rehearse, settings_of, protection: str, count: int) -> None:
    for seed in range(count):
        rng = np.random.default_rng(seed)
        columns = rng.integers(1, 5, rng.integers(2, 5)).tolist()
        task = str(rng.choice(["two classes", "three classes", "number"]))
        batch_rows, rows = int(rng.integers(0, 40)), int(rng.integers(4, 60))
        run = make_any_run(
            rehearse, settings_of, protection, seed, rows, columns, task, batch_rows, rng.uniform(-8, 8), False
        )
        check_equals_centralised(run, run.run())
        assert all(check.largest_error <= check.bound for check in run.exactness_check.checks), seed


def make_any_run(rehearse, settings_of, protection, seed, rows, columns, task, batch_rows, skew, ties):
    rng = np.random.default_rng(seed)
    job = settings_of(
        host_count=len(columns) - 1,
        task=task,
        protection=protection,
        batch_rows=batch_rows,
        epochs=1,
        learning_rate=0.1,
    )
    tables = {}
    for party, count in zip(job.parties, columns, strict=True):
        features = rng.standard_t(3, size=(rows, count)) * 10.0**skew + rng.normal(size=count) * 10.0**-skew
        if ties:
            features = np.round(features / np.abs(features).max() * 3)
            features[0], features[1] = 0.0, 1.0
        labels = None
        if party == job.guest:
            labels = rng.normal(size=rows) if task == "number" else rng.integers(0, len(job.classes), rows)
            labels[:2] = [0, 1]
        tables[party] = Table(features, labels, tuple(f"{party}-{i}" for i in range(count)), party)
    return rehearse(job, tables)


@pytest.mark.long_cases("adam-lattice")
@pytest.mark.parametrize(("optimiser", "protection"), [("sgd", "paillier"), ("adam", "lattice")])
def test_a_resumed_run_equals_the_one_that_ran_through(
    rehearse, settings_of, tables_of, optimiser: str, protection: str
) -> None:
    tables = tables_of(5)
    job = settings_of(epochs=3, optimiser=optimiser, learning_rate=0.05, protection=protection)
    whole = rehearse(job, tables)
    parts = whole.run()
    after_first = {party: states[0] for party, states in whole.saved.items()}
    assert {state.epochs_done for state in after_first.values()} == {1}
    resumed = rehearse(job, tables, resume_from=after_first)
    check_same(parts, resumed.run())
    assert [record.epoch for record in resumed.records["bank"]] == [2, 3]
    losses, others = (one.saved["bank"][-1].losses for one in (whole, resumed))
    assert others[0] == losses[0]
    assert np.abs(np.subtract(losses, others)).max() < 1.5 * loss_unit(whole)
    assert resumed.exactness_check.checks[0].step == "epoch-2/batch-1"


def test_a_run_that_had_ended_is_not_trained_on(rehearse, settings_of, tables_of) -> None:
    tables, job = tables_of(5), settings_of(epochs=1)
    whole = rehearse(job, tables)
    parts = whole.run()
    last = {party: states[-1] for party, states in whole.saved.items()}
    assert all(state.finished for state in last.values())
    again = rehearse(job, tables, resume_from=last)
    check_same(parts, again.run())
    assert again.exactness_check.checks == []


def test_a_warm_start_begins_with_the_weights_of_another_model(rehearse, settings_of, tables_of) -> None:
    tables, job = tables_of(6), settings_of(epochs=1)
    first = rehearse(job, tables).run()
    start = {party: part.arrays for party, part in first.items() if part is not None}
    then = rehearse(job, tables, start_from=start)
    check_same(then.run(), rehearse(settings_of(epochs=2), tables).run())


@pytest.mark.parametrize(
    ("rule", "epochs"), [({"stop_at_loss": 0.6}, None), ({"patience": 1, "min_improvement": 1.0}, 2), ({}, 8)]
)
def test_training_ends_early_by_the_losses(rehearse, settings_of, tables_of, rule, epochs) -> None:
    # One step an epoch, from a loss of log 2; enough rows to be told finely.
    run = rehearse(settings_of(protection="none", epochs=8, batch_rows=0, **rule), tables_of(7, rows=240))
    run.run()
    losses = run.saved["bank"][-1].losses
    if epochs is None:
        assert losses[-1] <= 0.6 < losses[-2]
    else:
        assert len(losses) == epochs
    assert run.saved["shop"][-1].epochs_done == run.saved["bank"][-1].epochs_done == len(losses)
    assert len(run.records["judge"]) == len(losses)


@pytest.mark.parametrize(("protection", "rows"), [("paillier", 300), ("lattice", 300), ("lattice", 9000)])
def test_one_batch_of_all_rows(rehearse, settings_of, tables_of, protection: str, rows: int) -> None:
    run = rehearse(settings_of(batch_rows=0, protection=protection), tables_of(8, rows=rows))
    check_equals_centralised(run, run.run())
    assert len(run.exactness_check.checks) == 2


def test_each_part_of_the_time_has_its_name(rehearse, settings_of, tables_of) -> None:
    from hekat.protocol.vertical_linear.timing_labels import PARTS

    run = rehearse(settings_of(), tables_of(1))
    run.run()
    measured = {party: set(one.stopwatch.seconds) - {"open", "send"} for party, one in run.sessions.items()}
    assert measured["bank"] == {"aggregate", "fore gradient", "gradient", "loss", "plain"}
    assert measured["shop"] == {"encrypt logits", "gradient", "loss", "plain"}
    assert measured["judge"] == {"keys", "decrypt"}
    assert set.union(*measured.values()) <= set(PARTS)


def test_the_ledgers_tell_equations_over_rows(rehearse, settings_of, tables_of) -> None:
    run = rehearse(settings_of(epochs=1), tables_of(1))
    run.run()
    told = "shop learns its gradients: 6 linear equations over 60 rows (3 batches x 2 columns)"
    assert told in run.notes["shop"]
    assert told in run.notes["bank"]
    assert any(
        text.startswith("bank learns its gradients: 12 linear equations over 60 rows") for text in run.notes["bank"]
    )


@pytest.mark.long
def test_guest_and_hosts_are_told_the_equations_of_all_hosts_together(rehearse, settings_of, tables_of) -> None:
    run = rehearse(settings_of(host_count=3), tables_of(9, columns=(3, 2, 1, 4)))
    run.run()
    told = "all 3 hosts together learn 21 linear equations over 60 rows: 0.35 for each row"
    for party in run.settings.parties:
        assert told in run.notes[party]
    one = rehearse(settings_of(), tables_of(9))
    one.run()
    assert not any("together" in note for notes in one.notes.values() for note in notes)
