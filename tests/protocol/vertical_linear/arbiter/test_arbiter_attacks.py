"""Attacks on training with an arbiter: what each would win, and what stands in its way."""

from __future__ import annotations

import itertools
from dataclasses import replace

import gmpy2
import numpy as np
import pytest

from hekat.data import Table
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.errors import PartyStoppedError, PolicyError
from hekat.protocol.vertical_linear.arbiter import arithmetic as arithmetic_module
from hekat.protocol.vertical_linear.arbiter.arithmetic import PaillierArithmetic
from hekat.protocol.vertical_linear.arbiter.host import run_host
from hekat.protocol.vertical_linear.arbiter.messages import StartMessage
from hekat.protocol.vertical_linear.arbiter.sum_layout import GUARD_UNITS, SumLayout
from hekat.protocol.vertical_linear.fixed_point import encode_features
from hekat.protocol.vertical_linear.objective import WEIGHTS
from hekat.protocol.vertical_linear.settings import LEAK_ACCEPTED, VerticalLinearSettings
from hekat.scheme.paillier import Ciphertexts, add_plain, decrypt
from hekat.scheme.paillier.randomiser import djn_randomisers
from hekat.scheme.paillier.row_packing import open_slots, unmask_slots
from hekat.wire import from_bytes


class Notebook:
    """Of an honest but curious host: its own gradients, which it is given anyway. Stands where a witness would."""

    def __init__(self) -> None:
        self.steps: list[tuple[np.ndarray, np.ndarray]] = []

    def begin(self, party, features) -> None:
        self.features = features

    def deposit(self, step, rows, party, parameters, gradient) -> None:
        self.steps.append((rows, gradient[WEIGHTS]))


def curious(notebook: Notebook):
    """A host that keeps to the protocol and writes down what it sees."""
    return lambda channel, table, settings, run: run_host(channel, table, settings, replace(run, witness=notebook))


def solve_for_labels(notebook: Notebook, row_count: int) -> np.ndarray:
    """X^T d = rows times gradient, solved for d batch by batch in the first epoch: the sign of -d is the label."""
    guessed = np.zeros(row_count)
    for rows, gradient in notebook.steps:
        d = np.linalg.lstsq(notebook.features[rows].T, len(rows) * gradient[:, 0], rcond=None)[0]
        guessed[rows] = -np.sign(d)
    return guessed


@pytest.fixture
def wide_tables(tables_of) -> dict[str, Table]:
    """120 rows and a host with 10 columns."""
    return tables_of(11, rows=120, columns=(3, 10))


def test_a_host_solves_its_gradients_for_labels_where_the_job_allows_small_batches(
    rehearse, settings_of, wide_tables
) -> None:
    notebook = Notebook()
    job = settings_of(batch_rows=8, epochs=1, learning_rate=0.1)
    rehearse(job, wide_tables, witness=False, stand_ins={"shop": curious(notebook)}).run()
    found = solve_for_labels(notebook, 120)
    truth = np.where(wide_tables["bank"].labels == 1, 1, -1)
    assert (found == truth).mean() > 0.95


def test_the_same_job_is_refused_unless_it_says_so(rehearse, settings_of, wide_tables) -> None:
    notebook = Notebook()
    job = settings_of(batch_rows=8, epochs=1, accepted=None)
    run = rehearse(job, wide_tables, witness=False, stand_ins={"shop": curious(notebook)})
    with pytest.raises(PartyStoppedError) as caught:
        run.run()
    assert isinstance(caught.value.__cause__, PolicyError)
    assert notebook.steps == []
    assert not run.sent["bank"]


def try_halves(notebook: Notebook, job: VerticalLinearSettings) -> np.ndarray:
    """Labels of the first batch, by the sums of x y in integers: those of all sign patterns of either half of the rows
    are looked up in each other."""
    rows, gradient = notebook.steps[0]
    x = encode_features(notebook.features[rows], job.fixed_point, "shop")
    told = np.rint(-2 * len(rows) * gradient[:, 0] * 2.0**job.fixed_point.feature_bits).astype(np.int64)
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


def test_a_tenth_as_many_equations_as_rows_tell_every_label_of_a_small_batch(rehearse, settings_of, tables_of) -> None:
    """Labels are -1 or 1, and weights 0 at first: two columns and twenty rows are forty bits on twenty labels."""
    tables = tables_of(15, rows=20, columns=(3, 2))
    notebook = Notebook()
    job = settings_of(batch_rows=0, epochs=1, protection="none")
    rehearse(job, tables, witness=False, stand_ins={"shop": curious(notebook)}).run()
    assert np.array_equal(try_halves(notebook, job), np.where(tables["bank"].labels == 1, 1, -1))
    with pytest.raises(PartyStoppedError, match="host shop would tell the labels of a batch") as caught:
        rehearse(replace(job, label_leak_accepted=None), tables, witness=False).run()
    assert caught.value.party == "shop"


def test_the_guest_counts_bits_by_itself(rehearse, settings_of, tables_of) -> None:
    def lax(channel, table, settings, run):
        return run_host(channel, table, replace(settings, label_leak_accepted=LEAK_ACCEPTED), run)

    job = settings_of(batch_rows=0, epochs=1, protection="none", accepted=None)
    run = rehearse(job, tables_of(15, rows=20, columns=(3, 2)), witness=False, stand_ins={"shop": lax})
    with pytest.raises(PartyStoppedError, match="host shop would tell the labels of a batch") as caught:
        run.run()
    assert caught.value.party == "bank"
    assert run.sent["bank"] == []


def test_a_column_with_one_row_reads_that_rows_label(rehearse, settings_of, tables_of) -> None:
    tables = tables_of(12, rows=200)
    one_hot = np.zeros((200, 1))
    one_hot[17] = 1.0
    tables["shop"] = Table(one_hot, None, ("rare",), "shop")
    notebook = Notebook()
    job = settings_of(batch_rows=0, epochs=1, protection="none", standardise=False)
    rehearse(job, tables, witness=False, stand_ins={"shop": curious(notebook)}).run()
    ((_, gradient),) = notebook.steps
    assert 200 * gradient[0, 0] == pytest.approx(0.5 - tables["bank"].labels[17], abs=1e-6)
    with pytest.raises(PartyStoppedError, match="1 columns of host shop would tell labels of single rows"):
        rehearse(replace(job, label_leak_accepted=None), tables, witness=False).run()


def test_a_host_does_not_find_its_own_scores_in_the_residuals(rehearse, settings_of, tables_of) -> None:
    """c' / c = 1 + m n would tell the guest's part m, labels and all, had c not been re-randomised on its way."""
    run = rehearse(settings_of(epochs=1, batch_rows=0), tables_of(13))
    run.run()
    key = run.key_pair.public
    sent = {
        step: ints_from_limbs(from_bytes(message.values, Ciphertexts, public_key=key).to_limbs())
        for name in ("bank", "shop")
        for _, step, message in run.sent[name]
        if step.endswith(("/scores", "/residuals"))
    }
    pairs = list(zip(sent["epoch-1/batch-1/scores"], sent["epoch-1/batch-1/residuals"], strict=True))
    assert pairs
    assert all(of_all * pow(own, -1, key.n) % key.n != 1 for own, of_all in pairs)
    # Without a fresh randomiser it is 1 each time.
    own = Ciphertexts.from_limbs(key, limbs_from_ints([pairs[0][0]], key.n_squared.limb_count))
    (naive,) = ints_from_limbs(add_plain(own, 12345).to_limbs())
    assert naive * pow(pairs[0][0], -1, key.n) % key.n == 1


SMALL = VerticalLinearSettings("bank", ("shop",), arbiter="judge", classes=("no", "yes"), label_leak_accepted=None)
TRIALS = 240


@pytest.fixture
def small(paillier_keys) -> tuple[PaillierArithmetic, SumLayout, object]:
    """Arithmetic under a key of 512 bits, of which the arbiter knows the factors, with 3 rows in a ciphertext."""
    start = StartMessage(
        row_count=4000, column_counts=[1, 1], feature_bits=17, target_bits=1, epochs_done=0, finished=False
    )
    layout = SumLayout.of(start, SMALL)
    keys = paillier_keys(512)
    return PaillierArithmetic(keys.public, layout), layout, keys


def guess_marks(small, trials: int) -> float:
    """How often an arbiter who marked one row's ciphertext with a randomiser of Jacobi symbol -1, or by the toss of a
    coin did not, tells from the masked gradient which it was.

    Every column has an odd value in that row. c mod n = r^n, and n is odd: the symbol of c is that of its randomiser.
    """
    arithmetic, _, keys = small
    key = keys.public
    n = key.n
    rng = np.random.default_rng(5)
    odd = next(r for r in range(2, 1000) if gmpy2.jacobi(r, n) == -1)
    mark = int(gmpy2.powmod(odd, n, n * n))
    right = 0
    for marked in rng.integers(0, 2, trials):
        rows = arithmetic.hold(rng.integers(-(2**34), 2**34, (6, 1)))
        if marked:
            values = ints_from_limbs(rows.to_limbs())
            values[-1] = values[-1] * mark % (n * n)
            rows = Ciphertexts.from_limbs(key, limbs_from_ints(values, key.n_squared.limb_count)).reshape(rows.shape)
        matrix = 2 * rng.integers(-(2**15), 2**15, (1, 6)) + 1
        masked = arithmetic.mask(arithmetic.multiply(matrix, rows))
        (seen,) = ints_from_limbs(from_bytes(masked.data, Ciphertexts, public_key=key).to_limbs())
        right += (gmpy2.jacobi(seen % n, n) == -1) == bool(marked)
    return right / trials


def test_marked_randomisers_are_not_found_again(small) -> None:
    # 240 fair coins: further than 0.21 from a half with odds below 10^-10.
    assert abs(guess_marks(small, TRIALS) - 0.5) < 0.21


def test_marked_randomisers_would_be_found_again_under_djn(small, monkeypatch) -> None:
    def by_djn(c):
        return Ciphertexts(c.public, c.engine.mod_mul(c.residues, djn_randomisers(c.public, c.size, c.engine)))

    monkeypatch.setattr(arithmetic_module, "rerandomise", by_djn)
    assert guess_marks(small, 40) == 1.0


def test_what_the_arbiter_opens_is_uniform_and_gives_the_product_to_its_owner_alone(small) -> None:
    arithmetic, layout, keys = small
    packing = layout.packing(keys.public)
    rows = np.array([[3], [-1], [4], [1], [-5], [9]]) << 30
    products = arithmetic.multiply(np.arange(1, 7)[np.newaxis], arithmetic.hold(rows))
    many = arithmetic.take(products, np.zeros(600, np.int64))
    masked = arithmetic.mask(many)
    opened = decrypt(keys.private, from_bytes(masked.data, Ciphertexts, public_key=keys.public)).limbs
    signs = opened[:, -1] >> np.uint64(63)
    assert len({line.tobytes() for line in opened}) == 600
    # Half of numbers uniform mod n are above n / 2, so negative: of 600 of them 300 +- 80 with odds below 10^-10.
    assert abs(int(signs.sum()) - 300) < 80
    slots = open_slots(opened, keys.public, packing)
    exact = int((np.arange(1, 7)[np.newaxis] @ rows)[0, 0])
    assert set(arithmetic.unmask(slots, masked, "judge").tolist()) == {exact}
    # Another's mask does not open it.
    others = replace(masked, masks=masked.masks[::-1])
    assert exact not in arithmetic.unmask(slots, others, "judge").tolist()


@pytest.mark.parametrize(("sign", "unit"), [(1, 1), (-1, 3)])
def test_guard_units_take_up_what_is_carried(small, monkeypatch, sign: int, unit: int) -> None:
    """Sums near their bound carry a unit, or borrow one, under one mask in six or more: products are exact even so."""
    arithmetic, layout, keys = small
    units: set[int] = set()

    def unmask_and_look(slots, masks, packing):
        values = unmask_slots(slots, masks, packing)
        units.update(value % GUARD_UNITS for value in values)
        return values

    monkeypatch.setattr(arithmetic_module, "unmask_slots", unmask_and_look)
    packing = layout.packing(keys.public)
    assert packing.row_count == 3
    rows = np.full((6, 1), sign * (layout.product_bound // (6 << 20)))
    products = arithmetic.multiply(np.full((1, 6), 1 << 20), arithmetic.hold(rows))
    masked = arithmetic.mask(arithmetic.take(products, np.zeros(400, np.int64)))
    opened = decrypt(keys.private, from_bytes(masked.data, Ciphertexts, public_key=keys.public)).limbs
    found = arithmetic.unmask(open_slots(opened, keys.public, packing), masked, "judge")
    assert set(found.tolist()) == {(int(rows[0, 0]) * 6) << 20}
    assert units == {0, unit}
