"""What honest but curious parties can solve their own gradients for, and the rules that refuse such jobs."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import PartyStoppedError, PolicyError
from hekat.protocol.vertical_linear.arbiter.guest import run_guest
from hekat.protocol.vertical_linear.arbiter.host import run_host
from hekat.protocol.vertical_linear.arbiter.local_trainer import LocalTrainer
from hekat.protocol.vertical_linear.fixed_point import encode_features
from hekat.protocol.vertical_linear.label_leak.equations import LeakCount, check_equations
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS
from hekat.protocol.vertical_linear.settings import COLUMN_LEAK_ACCEPTED, LEAK_ACCEPTED, VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import FixedPoint


def refused(run, party: str, text: str) -> None:
    """A rule ends the run at `party`, before anything of labels or scores leaves."""
    with pytest.raises(PartyStoppedError, match=text) as caught:
        run.run()
    assert isinstance(caught.value.__cause__, PolicyError)
    assert caught.value.party == party
    sent = {type(message).__name__ for messages in run.sent.values() for _, _, message in messages}
    assert sent <= {"HostReadyMessage", "StartMessage", "PublicKeyMessage"}


def lax_host(channel, table, settings, run):
    return run_host(channel, table, replace(settings, label_leak_accepted=LEAK_ACCEPTED), run)


def lax_guest(channel, table, settings, run):
    return run_guest(channel, table, replace(settings, column_leak_accepted=COLUMN_LEAK_ACCEPTED), run)


def take_host_column(tables, values: np.ndarray) -> dict[str, Table]:
    names = tuple(f"shop-{number}" for number in range(values.shape[1]))
    return {**tables, "shop": Table(values, None, names, "shop")}


# --- equations on labels ----------------------------------------------------------------------------------------------


def solve_for_labels(notebook, row_count: int) -> np.ndarray:
    """Solve X^T d = rows times gradient for d, batch by batch in the first epoch; the sign of -d is the label."""
    guessed = np.zeros(row_count)
    for rows, _, gradient in notebook.steps:
        d = np.linalg.lstsq(notebook.features[rows].T, len(rows) * gradient[WEIGHTS][:, 0], rcond=None)[0]
        guessed[rows] = -np.sign(d)
    return guessed


@pytest.fixture
def wide_tables(tables_of) -> dict[str, Table]:
    """120 rows and a host with 10 columns."""
    return tables_of(11, rows=120, columns=(3, 10))


@pytest.mark.long
def test_a_host_solves_its_gradients_for_labels_where_the_job_allows_small_batches(
    rehearse, settings_of, wide_tables, new_notebook
) -> None:
    notebook = new_notebook()
    job = settings_of(batch_rows=8, epochs=1, learning_rate=0.1)
    rehearse(job, wide_tables, exactness_check=False, stand_ins={"shop": notebook.play_host}).run()
    found = solve_for_labels(notebook, 120)
    truth = np.where(wide_tables["bank"].labels == 1, 1, -1)
    assert (found == truth).mean() > 0.95


def test_the_same_job_is_refused_unless_it_says_so(rehearse, settings_of, wide_tables, new_notebook) -> None:
    notebook = new_notebook()
    job = settings_of(batch_rows=8, epochs=1, accepted=None)
    run = rehearse(job, wide_tables, exactness_check=False, stand_ins={"shop": notebook.play_host})
    refused(run, "shop", "gradients of host shop would tell labels")
    assert notebook.steps == []
    assert not run.sent["bank"]


# --- bits of labels ---------------------------------------------------------------------------------------------------


def first_sums(notebook, job: VerticalLinearSettings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first batch: its rows, the host's features in integers, and the sums of features times -d."""
    rows, _, gradient = notebook.steps[0]
    features = encode_features(notebook.features[rows], job.fixed_point, "shop")
    return rows, features, -len(rows) * gradient[WEIGHTS][:, 0] * 2.0**job.fixed_point.feature_bits


def try_halves(notebook, job: VerticalLinearSettings) -> np.ndarray:
    """Find the labels of the first batch by the sums of x y in integers: look up the sums of all sign patterns of one
    half of the rows in those of the other half."""
    rows, x, sums = first_sums(notebook, job)
    told = np.rint(2 * sums).astype(np.int64)
    half = len(rows) // 2
    signs = np.array(list(itertools.product([-1, 1], repeat=half)))
    second = {tuple(told - total): pattern for total, pattern in zip((signs @ x[half:]).tolist(), signs, strict=True)}
    found = [
        np.concatenate([pattern, second[tuple(total)]])
        for total, pattern in zip((signs @ x[:half]).tolist(), signs, strict=True)
        if tuple(total) in second
    ]
    (only,) = found
    labels = np.zeros(len(notebook.features))
    labels[rows] = only
    return labels


def test_a_tenth_as_many_equations_as_rows_tell_every_label_of_a_small_batch(
    rehearse, settings_of, tables_of, new_notebook
) -> None:
    """Labels are -1 or 1, and weights begin at 0: two columns of twenty rows tell forty bits of twenty labels."""
    tables, notebook = tables_of(15, rows=20, columns=(3, 2)), new_notebook()
    job = settings_of(batch_rows=0, epochs=1, protection="none")
    rehearse(job, tables, exactness_check=False, stand_ins={"shop": notebook.play_host}).run()
    assert np.array_equal(try_halves(notebook, job), np.where(tables["bank"].labels == 1, 1, -1))
    run = rehearse(replace(job, label_leak_accepted=None), tables, exactness_check=False)
    refused(run, "shop", "host shop would tell the labels of a batch")


def test_the_guest_counts_bits_by_itself(rehearse, settings_of, tables_of) -> None:
    job = settings_of(batch_rows=0, epochs=1, protection="none", accepted=None)
    run = rehearse(job, tables_of(15, rows=20, columns=(3, 2)), exactness_check=False, stand_ins={"shop": lax_host})
    refused(run, "bank", "host shop would tell the labels of a batch")
    assert run.sent["bank"] == []


ROWS, POSITIVES = 1024, 4


def old_rules_accept(column_count: int, feature_bits: int, *, classes: int | None) -> bool:
    """The rules without the count of rare labels: one batch of ROWS rows of continuous columns, none of them thin. Bits
    are counted for classes alone, as if all classes were equally frequent."""
    told = column_count * (feature_bits + ROWS.bit_length())
    return column_count * 10 <= ROWS and (classes is None or told <= ROWS * math.log2(classes))


@pytest.fixture
def rare(tables_of) -> dict[str, Table]:
    """ROWS rows with POSITIVES labels of 1, and three columns without tails at the host."""
    rng = np.random.default_rng(21)
    labels = np.zeros(ROWS, np.int64)
    labels[rng.choice(ROWS, POSITIVES, replace=False)] = 1
    tables = take_host_column(tables_of(21, rows=ROWS), rng.uniform(-1, 1, (ROWS, 3)))
    return {**tables, "bank": replace(tables["bank"], labels=labels)}


class Pairs:
    """The sums of the features of all pairs of rows, as one number each; the map is linear, so that one look-up finds a
    rest."""

    def __init__(self, features: np.ndarray) -> None:
        rng = np.random.default_rng(5)
        self._factors = rng.integers(1, 2**63, features.shape[1], dtype=np.uint64)
        self._pairs = np.array(np.triu_indices(len(features), 1))
        numbers = self._number(features)
        sums = numbers[self._pairs[0]] + numbers[self._pairs[1]]
        self._order = np.argsort(sums)
        self._sums = sums[self._order]

    def _number(self, features: np.ndarray) -> np.ndarray:
        return (features.astype(np.uint64) * self._factors).sum(axis=-1)

    def find_four(self, total: np.ndarray) -> set[int]:
        """Four rows whose features add up to `total`; empty where there are none."""
        rest = self._number(total) - self._sums
        places = np.minimum(np.searchsorted(self._sums, rest), len(rest) - 1)
        hits = np.flatnonzero(self._sums[places] == rest)
        if not hits.size:
            return set()
        chosen = self._order[[hits[0], places[hits[0]]]]
        return set(self._pairs[:, chosen].reshape(-1).tolist())


def test_the_few_positives_of_a_batch_fall_to_a_search_of_pairs(rehearse, settings_of, rare, new_notebook) -> None:
    """Three sums of some thirty bits each tell which four of a thousand rows are positive: log2 C(1024, 4) is 35
    bits."""
    notebook, job = new_notebook(), settings_of(batch_rows=0, epochs=1, protection="none")
    rehearse(job, rare, exactness_check=False, stand_ins={"shop": notebook.play_host}).run()
    rows, x, sums = first_sums(notebook, job)
    assert old_rules_accept(3, int(np.abs(x).max()).bit_length(), classes=2)
    # Half of the sum of x y over all rows plus half of the sum of x is the sum of x over the positives.
    found = Pairs(x).find_four((np.rint(2 * sums).astype(np.int64) + x.sum(axis=0)) // 2)
    assert set(rows[list(found)].tolist()) == set(np.flatnonzero(rare["bank"].labels).tolist())
    run = rehearse(replace(job, label_leak_accepted=None), rare, exactness_check=False)
    refused(run, "bank", "host shop would tell the labels of a batch; expected at most 35 bits a batch")
    assert run.sent["bank"] == []


def test_so_do_those_of_a_regression_on_two_values(rehearse, settings_of, rare, new_notebook) -> None:
    """The guest standardises zeros and ones by a mean and spread that follow from the number of ones."""
    tables = {**rare, "bank": replace(rare["bank"], labels=rare["bank"].labels.astype(np.float64))}
    notebook, job = new_notebook(), settings_of(batch_rows=0, epochs=1, protection="none", task="number")
    rehearse(job, tables, exactness_check=False, stand_ins={"shop": notebook.play_host}).run()
    rows, x, sums = first_sums(notebook, job)
    assert old_rules_accept(3, int(np.abs(x).max()).bit_length(), classes=None)
    pairs, found = Pairs(x), []
    for count in range(2, 8):
        mean = count / ROWS
        total = sums * math.sqrt(mean * (1 - mean)) + mean * x.sum(axis=0)
        found.append(pairs.find_four(np.rint(total).astype(np.int64)))
    (four,) = [rows_found for rows_found in found if rows_found]
    assert set(rows[list(four)].tolist()) == set(np.flatnonzero(tables["bank"].labels).tolist())
    run = rehearse(replace(job, label_leak_accepted=None), tables, exactness_check=False)
    refused(run, "bank", "host shop would tell the labels of a batch; expected at most 35 bits a batch")


# --- columns of few rows ----------------------------------------------------------------------------------------------


@pytest.fixture
def customers_of_few(tables_of) -> dict[str, Table]:
    """5,120 rows, of which 11.5 % have values in the host's four columns, and the others none in any."""
    rng = np.random.default_rng(3)
    rows = 5120
    has = rng.permutation(rows) < int(0.115 * rows)
    tables = take_host_column(tables_of(3, rows=rows), np.where(has[:, np.newaxis], rng.uniform(1, 2, (rows, 4)), 0.0))
    bank = Table(rng.normal(size=(rows, 2)), (rng.random(rows) < 0.5).astype(np.int64), ("u", "v"), "bank")
    return {**tables, "bank": bank}


def signs_of(count: int) -> np.ndarray:
    return 1 - 2 * ((np.arange(1 << count)[:, np.newaxis] >> np.arange(count)) & 1)


def test_columns_that_are_alike_in_most_rows_tell_the_labels_of_the_others(
    rehearse, settings_of, customers_of_few, new_notebook, monkeypatch
) -> None:
    """Without the rule on rows: 108 bits pass on 256 labels, although they are about 26 labels only.

    Columns x and z that are c and e in all other rows give e x - c z, which is 0 there.
    """
    notebook, tables = new_notebook(), customers_of_few
    job = settings_of(batch_rows=256, epochs=1, protection="none", accepted=None, columns_accepted=None)
    run = rehearse(job, tables, exactness_check=False, stand_ins={"shop": notebook.play_host})
    with monkeypatch.context() as old:
        old.setattr(LocalTrainer, "check_column_rows", lambda own: None)
        run.run()
    rows, x, sums = first_sums(notebook, job)
    told = np.rint(2 * sums).astype(np.int64)
    few = np.flatnonzero((x != np.median(x, axis=0)).all(axis=1))
    (elsewhere,) = np.unique(np.delete(x, few, axis=0), axis=0)
    rests = np.stack([elsewhere[j] * x[few, 0] - elsewhere[0] * x[few, j] for j in range(1, 4)], axis=1)
    total = np.array([elsewhere[j] * told[0] - elsewhere[0] * told[j] for j in range(1, 4)])
    # Sums of three numbers are looked up as one.
    factors = np.random.default_rng(5).integers(-(2**62), 2**62, 3) | 1
    with np.errstate(over="ignore"):
        numbers, wanted = rests @ factors, total @ factors
        half = len(few) // 2
        first, second = signs_of(half) @ numbers[:half], signs_of(len(few) - half) @ numbers[half:]
        _, at, other = np.intersect1d(wanted - first, second, return_indices=True)
    (found,) = np.hstack([signs_of(half)[at], signs_of(len(few) - half)[other]])
    assert len(few) >= 24
    assert np.array_equal(found, np.where(tables["bank"].labels[rows[few]] == 1, 1, -1))


def test_they_are_refused_at_the_host(rehearse, settings_of, customers_of_few) -> None:
    job = settings_of(batch_rows=256, epochs=1, protection="none", accepted=None, columns_accepted=None)
    run = rehearse(job, customers_of_few, exactness_check=False)
    refused(run, "shop", "4 columns of host shop share so few rows that they would tell the labels of these")
    assert run.sent["shop"] == []


def test_in_one_large_batch_they_are_not_refused(rehearse, settings_of, customers_of_few) -> None:
    job = settings_of(batch_rows=0, epochs=1, protection="none", accepted=None, columns_accepted=None)
    rehearse(job, customers_of_few, exactness_check=False).run()


# --- rows that stand out ----------------------------------------------------------------------------------------------


def test_a_column_with_one_row_reads_that_rows_label(rehearse, settings_of, tables_of, new_notebook) -> None:
    one_hot = np.zeros((200, 1))
    one_hot[17] = 1.0
    tables, notebook = take_host_column(tables_of(12, rows=200), one_hot), new_notebook()
    job = settings_of(batch_rows=0, epochs=1, protection="none", standardise=False)
    rehearse(job, tables, exactness_check=False, stand_ins={"shop": notebook.play_host}).run()
    ((_, _, gradient),) = notebook.steps
    assert 200 * gradient[WEIGHTS][0, 0] == pytest.approx(0.5 - tables["bank"].labels[17], abs=1e-6)
    run = rehearse(replace(job, label_leak_accepted=None), tables, exactness_check=False)
    refused(run, "shop", "1 column of host shop would tell labels of single rows")


@pytest.mark.parametrize("party", ["bank", "shop"])
def test_columns_are_counted_as_they_are_rounded(rehearse, settings_of, tables_of, party: str) -> None:
    """Without standardising, values below half a unit of 2^-16 become zeros, which leaves one row."""
    column = np.random.default_rng(24).uniform(0, 7e-6, (200, 1))
    column[17] = 9e-6
    plain, labels = np.random.default_rng(25).uniform(size=(200, 1)), tables_of(24, rows=200)["bank"].labels
    tables = {name: Table(plain, labels if name == "bank" else None, ("one",), name) for name in ("bank", "shop")}
    job = settings_of(batch_rows=0, epochs=1, protection="none", standardise=False, accepted=None)
    job = replace(job, column_leak_accepted=None)
    rehearse(job, tables, exactness_check=False).run()
    tables[party] = replace(tables[party], features=column)
    refused(rehearse(job, tables, exactness_check=False), party, "1 column of .* single rows")


def test_a_long_tail_reads_the_label_of_the_row_at_its_end(rehearse, settings_of, tables_of, new_notebook) -> None:
    """Where one value is larger than all others of a batch together, the gradient has the sign of its row's label."""
    rng = np.random.default_rng(23)
    tails = rng.lognormal(sigma=3.0, size=(4000, 3))
    tables, notebook = take_host_column(tables_of(23, rows=4000), tails), new_notebook()
    job = settings_of(batch_rows=100, epochs=1, protection="none", learning_rate=1e-6, limit_spreads=0.0)
    rehearse(job, tables, exactness_check=False, stand_ins={"shop": notebook.play_host}).run()
    # The other rules alone: equations, bits, and thin columns, which no column of different values is.
    check_equations(LeakCount("shop", 40, 3, 4000), replace(job, label_leak_accepted=None))
    feature_bits = int(np.abs(encode_features(notebook.features, job.fixed_point, "shop")).max()).bit_length()
    assert 3 * (feature_bits + 7) <= 100
    truth = np.where(tables["bank"].labels == 1, 1, -1)
    outweighed = right = 0
    for rows, _, gradient in notebook.steps:
        for column in range(3):
            x = notebook.features[rows, column]
            row = int(np.abs(x).argmax())
            if 2 * abs(x[row]) > np.abs(x).sum():
                outweighed += 1
                right += int(-np.sign(gradient[WEIGHTS][column, 0]) * np.sign(x[row]) == truth[rows[row]])
    assert outweighed >= 8
    assert right == outweighed
    run = rehearse(replace(job, label_leak_accepted=None), tables, exactness_check=False)
    refused(run, "shop", "3 columns of host shop would tell labels of single rows")


def test_the_guest_checks_what_hosts_say_of_their_columns(rehearse, settings_of, tables_of) -> None:
    tails = np.random.default_rng(23).lognormal(sigma=3.0, size=(400, 2))
    tables = take_host_column(tables_of(23, rows=400), tails)
    job = settings_of(batch_rows=0, epochs=1, protection="none", accepted=None)
    run = rehearse(job, tables, exactness_check=False, stand_ins={"shop": lax_host})
    refused(run, "bank", "2 columns of host shop would tell labels of single rows")
    assert run.sent["bank"] == []


# --- what the guest learns of hosts -----------------------------------------------------------------------------------


def recover_scores(notebook, labels: np.ndarray, epochs: int) -> np.ndarray:
    """The sum of the hosts' scores of all rows in each epoch (rows, epochs).

    A^T d = rows times gradient, with A the guest's columns and ones, is solved for d = (scores + own part) / 4 - y / 2.
    """
    scores = np.zeros((len(labels), epochs))
    batches = len(notebook.steps) // epochs
    for number, (rows, parameters, gradient) in enumerate(notebook.steps):
        columns = np.column_stack([notebook.features[rows], np.ones(len(rows))])
        told = len(rows) * np.append(gradient[WEIGHTS][:, 0], gradient[INTERCEPT])
        d = np.linalg.lstsq(columns.T, told, rcond=None)[0]
        own = columns @ np.append(parameters[WEIGHTS][:, 0], parameters[INTERCEPT])
        scores[rows, number // batches] = 4 * (d + np.where(labels[rows] == 1, 0.5, -0.5)) - own
    return scores


WIDE = {"batch_rows": 60, "epochs": 6, "protection": "none", "limit_spreads": 0.0}


@pytest.fixture
def wide_guest(tables_of) -> dict[str, Table]:
    """300 rows, 64 columns at the guest and two at the host."""
    return tables_of(31, rows=300, columns=(64, 2))


def test_a_guest_with_more_columns_than_rows_in_a_batch_reads_the_scores_of_hosts_and_the_space_of_their_columns(
    rehearse, settings_of, wide_guest, new_notebook
) -> None:
    """In the clear gradients are the same integers, and the attack uses nothing else that the guest gets."""
    of_guest, of_host = new_notebook(), new_notebook()
    job = settings_of(**WIDE)
    stand_ins = {"bank": of_guest.play_guest, "shop": of_host.play_host}
    rehearse(job, wide_guest, exactness_check=False, stand_ins=stand_ins).run()
    scores = recover_scores(of_guest, wide_guest["bank"].labels, 6)
    batches = len(of_host.steps) // 6
    for number, (rows, parameters, _) in enumerate(of_host.steps):
        truth = of_host.features[rows] @ parameters[WEIGHTS][:, 0]
        np.testing.assert_allclose(scores[rows, number // batches], truth, atol=1e-4)
    for rows, _, _ in of_host.steps[:batches]:
        space = np.linalg.svd(scores[rows])[0][:, :2]
        columns = of_host.features[rows]
        assert np.abs(columns - space @ (space.T @ columns)).max() < 1e-2
    # The other rules alone: equations of the host on labels.
    check_equations(LeakCount("shop", batches, 2, 300), replace(job, label_leak_accepted=None))


def test_the_guest_is_refused_that_by_itself_and_by_hosts_before_they_send_a_score(
    rehearse, settings_of, wide_guest
) -> None:
    job, text = settings_of(**WIDE, columns_accepted=None), "gradients of guest bank would tell columns of hosts"
    text += "; expected at most 30 equations: a tenth of 300 rows; got 325"
    refused(rehearse(job, wide_guest, exactness_check=False), "bank", text)
    run = rehearse(job, wide_guest, exactness_check=False, stand_ins={"bank": lax_guest})
    refused(run, "shop", text)
    assert [step for _, step, _ in run.sent["shop"]] == ["ready"]
    assert any("bank learns its gradients: 325 linear equations" in note for note in run.notes["shop"])


def test_a_column_of_the_guest_with_one_row_reads_that_rows_score_and_is_refused(
    rehearse, settings_of, tables_of, new_notebook
) -> None:
    tables = tables_of(32, rows=200)
    one_hot = np.zeros((200, 1))
    one_hot[17] = 1.0
    tables["bank"] = Table(one_hot, tables["bank"].labels, ("rare",), "bank")
    of_guest, of_host = new_notebook(), new_notebook()
    job = settings_of(batch_rows=0, epochs=2, protection="none", standardise=False, learning_rate=1e-6)
    stand_ins = {"bank": of_guest.play_guest, "shop": of_host.play_host}
    rehearse(job, tables, exactness_check=False, stand_ins=stand_ins).run()
    _, parameters, gradient = of_guest.steps[1]
    d = 200 * gradient[WEIGHTS][0, 0]
    own = parameters[WEIGHTS][0, 0] + parameters[INTERCEPT][0]
    score = 4 * (d + (0.5 if tables["bank"].labels[17] == 1 else -0.5)) - own
    truth = (of_host.features[17] @ of_host.steps[1][1][WEIGHTS])[0]
    assert abs(truth) > 1e-6
    assert score == pytest.approx(truth, rel=1e-3)
    job = replace(job, column_leak_accepted=None)
    text = "1 column of guest bank would tell single rows of hosts' columns"
    refused(rehearse(job, tables, exactness_check=False), "bank", text)
    run = rehearse(job, tables, exactness_check=False, stand_ins={"bank": lax_guest})
    refused(run, "shop", text)
    assert [step for _, step, _ in run.sent["shop"]] == ["ready"]


def rotated(columns: np.ndarray, known: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Other columns with the same products with `known` (rows, few) and with each other."""
    basis = np.linalg.qr(np.hstack([known, rng.normal(size=(len(known), len(known) - known.shape[1]))]))[0]
    free = basis[:, known.shape[1] :]
    turn = np.linalg.qr(rng.normal(size=(free.shape[1], free.shape[1])))[0]
    return columns + free @ (turn - np.eye(len(turn))) @ (free.T @ columns)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_epochs_tell_the_guest_nothing_beyond_the_products_of_columns(
    rehearse, settings_of, tables_of, new_notebook, optimiser
) -> None:
    """Hosts' columns that are rotated within each batch, but keep their products with the guest's columns, ones and
    labels, give the guest the same gradients and losses in every epoch: gradients tell no more than these products."""
    rng = np.random.default_rng(33)
    tables = take_host_column(tables_of(33, rows=120), rng.normal(size=(120, 2)))
    tables["bank"] = replace(tables["bank"], features=rng.normal(size=(120, 3)))
    job = settings_of(batch_rows=60, epochs=9, protection="none", standardise=False, optimiser=optimiser)
    job = replace(job, fixed_point=FixedPoint(feature_bits=30, value_bits=40))
    views = []
    for turns in (True, False, False):
        notebook = new_notebook()
        run = rehearse(job, tables, exactness_check=False, stand_ins={"bank": notebook.play_guest})
        run.run()
        views.append((notebook, [record.loss for record in run.records["bank"]], tables["shop"].features))
        known = np.column_stack([tables["bank"].features, np.ones(120), tables["bank"].labels])
        turned = tables["shop"].features.copy()
        for rows, _, _ in notebook.steps[:2]:
            turned[rows] = rotated(turned[rows], known[rows] if turns else known[rows][:, :0], rng)
        tables = take_host_column(tables, turned)
    (one, losses, columns), (other, other_losses, others_columns), (control, _, _) = views
    assert np.abs(columns - others_columns).max() > 1
    assert losses == pytest.approx(other_losses, abs=1e-6)
    for (_, _, gradient), (_, _, again) in zip(one.steps, other.steps, strict=True):
        np.testing.assert_allclose(gradient[WEIGHTS], again[WEIGHTS], atol=1e-7)
        np.testing.assert_allclose(gradient[INTERCEPT], again[INTERCEPT], atol=1e-7)
    assert np.abs(one.steps[-1][2][WEIGHTS] - control.steps[-1][2][WEIGHTS]).max() > 1e-3
