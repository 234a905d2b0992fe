"""What parties could put together: both holders the products of columns, any set without one of the holders nothing."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.data import Table
from hekat.protocol.shares.share_array import add_shares, signed_integers, to_floats, zero_shares
from hekat.protocol.vertical.columns import prepare_columns
from hekat.protocol.vertical_linear.shared_weights.many_parties import begin
from hekat.protocol.vertical_linear.shared_weights.many_parties.set_up import SetUp
from hekat.protocol.vertical_linear.shared_weights.messages import ColumnAddendsMessage
from hekat.protocol.vertical_linear.shared_weights.weights import SharedWeights

PARTIES, HOLDERS = ("bank", "shop", "telco"), ("bank", "shop")
COLUMNS = (1, 1, 12)
ROWS, BATCH_ROWS = 120, 10


class Hearing:
    """A channel that keeps the addends that pass."""

    def __init__(self, channel, heard):
        self._channel, self._heard = channel, heard

    def __getattr__(self, name):
        return getattr(self._channel, name)

    def send(self, to, step, message):
        if isinstance(message, ColumnAddendsMessage):
            self._heard.append((to, step, message))
        return self._channel.send(to, step, message)


@pytest.fixture(scope="module")
def played(many_run_of, many_settings):
    """A run so slow that weights stay near 0, in batches so small that the quiet party's columns have an equation for
    each row: the rule on batches is set aside. Returns tables, labels, and what is left at holders: (set-up, shares of
    products) by party, (gradient, weights) of each step by party, and all addends as (to, step, message)."""
    kept, moved, addends = {}, {}, []
    play, move = SetUp.play, SharedWeights.move

    def record_play(self):
        found = play(self)
        kept[self.channel.party] = self, found
        return found

    def record_move(self, gradient, row_count):
        moved.setdefault(HOLDERS[not self._pair.is_guest], []).append((gradient, self.weights))
        move(self, gradient, row_count)

    rng = np.random.default_rng(31)
    labels = rng.permutation(np.arange(ROWS) % 2)
    joined = rng.normal(size=(ROWS, sum(COLUMNS)))
    tables = {}
    for name, part in zip(PARTIES, np.split(joined, np.cumsum(COLUMNS)[:-1], axis=1), strict=True):
        names = tuple(f"{name}-{number}" for number in range(part.shape[1]))
        tables[name] = Table(part, labels if name == "bank" else None, names, name)
    settings = many_settings(batch_rows=BATCH_ROWS, epochs=1, learning_rate=2.0**-20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SetUp, "play", record_play)
        patch.setattr(SharedWeights, "move", record_move)
        patch.setattr(begin, "check_batch_rows", lambda *_: None)
        run = many_run_of(settings, tables, exactness_check=False, wrap=lambda channel: Hearing(channel, addends))
        run.run()
    return tables, labels, kept, moved, addends


def test_shares_of_both_holders_add_up_to_the_exact_products(played):
    """Bit for bit: the sums of integers that training works on, and all that both holders together would have."""
    tables, labels, kept, _, _ = played
    signs = np.where(labels == 1, 1, -1).astype(object)
    for number, rows in enumerate(kept["bank"][0].own.batches):
        columns = [np.full((len(rows), 1), 1 << 16)]
        for name in PARTIES:
            prepared = prepare_columns(tables[name], standardise=True).features
            columns.append(np.rint(prepared[rows] * 2.0**16).astype(np.int64))
        joined = np.hstack(columns).astype(object)
        found = [kept[name][1][number] for name in HOLDERS]
        products = signed_integers(add_shares(found[0].products, found[1].products))
        targets = signed_integers(add_shares(found[0].targets, found[1].targets))
        assert (products == joined.T @ joined).all()
        assert (targets[:, 0] == joined.T @ signs[rows]).all()
        assert products.shape == (1 + sum(COLUMNS), 1 + sum(COLUMNS))


def recover_labels(columns, batches, equations):
    """The attack: solve X^T y = t for the labels of each batch."""
    labels = np.zeros(ROWS)
    for rows, right in zip(batches, equations, strict=True):
        solved, *_ = np.linalg.lstsq(columns[rows].T, right, rcond=None)
        labels[rows] = np.where(solved > 0, 1, -1)
    return labels


@pytest.mark.parametrize("outside", HOLDERS)
def test_all_parties_but_one_holder_have_nothing(played, outside):
    """The others have the quiet party's columns, and what the holder inside keeps and is sent."""
    tables, labels, kept, moved, addends = played
    batches = kept["bank"][0].own.batches
    signs = np.where(labels == 1, 1, -1)
    inside = next(name for name in HOLDERS if name != outside)
    place = kept["bank"][0].places.ranges["telco"]
    columns = prepare_columns(tables["telco"], standardise=True).features
    both = [add_shares(*(kept[name][1][number].targets for name in HOLDERS)) for number in range(len(batches))]
    assert (recover_labels(columns, batches, [to_floats(one, 16)[place, 0] for one in both]) == signs).all()
    views = {
        "products with labels": [to_floats(one.targets, 16)[place, 0] for one in kept[inside][1]],
        "gradients": [to_floats(gradient, 32)[place, 0] for gradient, _ in moved[inside]],
        "addends": [to_floats(message.targets, 16)[:, 0] for to, _, message in addends if to == inside],
    }
    for what, equations in views.items():
        right = (recover_labels(columns, batches, equations) == signs).mean()
        # Six standard deviations of guessing.
        assert abs(right - 0.5) < 6 * 0.5 / np.sqrt(ROWS), f"{what}: {right:.2f}"
    to_inside = [message for to, _, message in addends if to == inside]
    assert len(to_inside) == len(batches)
    for one in to_inside:
        low = np.concatenate([one.products.reshape(-1, 2), one.targets.reshape(-1, 2)])
        for limb in range(2):
            bits = np.unpackbits(low[:, limb].copy().view(np.uint8))
            assert abs(bits.mean() - 0.5) < 6 * 0.5 / np.sqrt(bits.size)


def test_no_addend_comes_twice(played):
    """Each batch and each holder has fresh ones, and neither holder's are the numbers themselves."""
    addends = played[-1]
    seen = [message.products.tobytes() for _, _, message in addends]
    assert len(seen) == len(set(seen)) == 2 * ROWS // BATCH_ROWS
    own = {step: zero_shares(()) for _, step, _ in addends}
    for _, step, message in addends:
        own[step] = add_shares(own[step], message.products[0, 1 + sum(COLUMNS[:2])])
    # Both addends of a column's product with itself give the sum of its squares.
    for value in own.values():
        assert 0 < float(to_floats(value, 32)) < 9 * BATCH_ROWS


@pytest.mark.parametrize(("rows", "solved"), [(12, True), (160, False)])
def test_holders_solve_for_rows_of_small_batches_and_not_of_those_that_are_allowed(rows, solved):
    """What the rule on batches is for: k known columns are k equations on each unknown one."""
    rng = np.random.default_rng(33)
    known, unknown = rng.normal(size=(rows, 14)), rng.normal(size=rows)
    found, *_ = np.linalg.lstsq(known.T, known.T @ unknown, rcond=None)
    error = np.linalg.norm(found - unknown) / np.linalg.norm(unknown)
    assert error < 1e-9 if solved else error > 0.8
