"""Columns that are 0 or 1 by the job: no sum tells how many parties have a category, and moments are exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from hekat.data import Table
from hekat.errors import BoundError
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.horizontal.training.gram import GRAM_STEP, ROOM, sum_curvature
from hekat.protocol.horizontal.training.local_run import LocalRun
from hekat.protocol.horizontal.training.loop import train
from hekat.protocol.horizontal.training.standardise import ColumnFindings, fit_standardiser
from hekat.protocol.secure_sum.aggregation import Aggregate, Alone, SumRequest
from hekat.protocol.secure_sum.paillier.party import PaillierAggregation
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.protocol.stopwatch import Stopwatch

NAMES = ("age", "job=a", "job=b", "job=other", "dose")
JOBS = NAMES[1:4]
RANGES = ("standardise/scale", "standardise/deviation", "lbfgs/ranges")


def table_of(name: str, jobs: np.ndarray, *, is_sparse: bool, seed: int, known: bool = True) -> Table:
    """Rows with the same numbers for each `seed`, and the jobs 0 to 2 of `jobs`."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(40, 9, jobs.size), rng.lognormal(size=jobs.size)
    rows = np.column_stack([numbers[0], np.eye(3)[jobs], numbers[1]])
    features = sparse.csr_array(rows) if is_sparse else rows
    return Table(features, np.arange(jobs.size) % 2, NAMES, name, indicators=JOBS if known else ())


def tables_with(holders: int, *, is_sparse: bool = False, known: bool = True) -> dict[str, Table]:
    """Three tables of 40 rows, 12 with job b at one of them or 4 at each, the other rows of job a."""
    tables = {}
    for seed, name in enumerate("abc"):
        jobs = np.zeros(40, dtype=np.int64)
        jobs[: {1: 12 if name == "b" else 0, 3: 4}[holders]] = 1
        tables[name] = table_of(name, jobs, is_sparse=is_sparse, seed=seed, known=known)
    return tables


@pytest.fixture
def opened(monkeypatch) -> dict[str, dict[str, int]]:
    """By step the sums of counters that a party opened."""
    sums: dict[str, dict[str, int]] = {}
    mean = PaillierAggregation.weighted_mean

    def listen(self, request):
        aggregate = mean(self, request)
        sums[request.step] = aggregate.counters
        return aggregate

    monkeypatch.setattr(PaillierAggregation, "weighted_mean", listen)
    return sums


@pytest.mark.long_cases("dense", "sparse")
@pytest.mark.parametrize(
    ("is_sparse", "standardise"), [(False, True), (True, True), (False, False)], ids=["dense", "sparse", "unscaled"]
)
def test_no_counter_tells_whether_one_party_or_three_have_a_category(
    is_sparse, standardise, opened, rehearse, settings_of
) -> None:
    settings = settings_of(training=TrainingSettings(algorithm="lbfgs", round_count=1, standardise=standardise))
    told = []
    for holders in (1, 3):
        opened.clear()
        rehearse(settings, tables_with(holders, is_sparse=is_sparse)).run()
        told.append({step: dict(sums) for step, sums in opened.items() if step.startswith(("standardise", "lbfgs"))})
    assert told[0] == told[1]
    assert {step for step in told[0] if step in RANGES} == set(RANGES if standardise else RANGES[2:])
    flagged = {name.split("/")[0] for step in RANGES for name in told[0].get(step, {}) if not name.endswith("/ones")}
    assert flagged <= {"0", "4", "rows", "lacks-rows"}
    ones = {name: count for sums in told[0].values() for name, count in sums.items() if name.endswith("/ones")}
    assert ones == {"1/ones": 108, "2/ones": 12, "3/ones": 0}


@pytest.mark.long
def test_columns_of_numbers_are_flagged_as_ever(opened, rehearse, settings_of) -> None:
    """What the test before relies on: flags of columns that are not known tell the holders."""
    told = []
    for holders in (1, 3):
        rehearse(
            settings_of(training=TrainingSettings(algorithm="lbfgs", round_count=1)), tables_with(holders, known=False)
        ).run()
        told.append(dict(opened["standardise/scale"]))
    assert (told[0]["2/0"], told[1]["2/0"]) == (1, 3)


@pytest.mark.parametrize("standardise", [True, False])
def test_ranges_of_standardised_columns_hold_two_numbers(standardise, opened, rehearse, settings_of) -> None:
    settings = settings_of(training=TrainingSettings(algorithm="lbfgs", round_count=1, standardise=standardise))
    rehearse(settings, tables_with(3, known=False)).run()
    names = set(opened["lbfgs/ranges"])
    assert names == {"rows", "lacks-rows"} if standardise else len(names) == 2 + 5 * 81


@pytest.mark.parametrize("is_sparse", [False, True])
def test_moments_of_a_category_are_exact_however_rare_it_is(is_sparse, rehearse, settings_of) -> None:
    rng = np.random.default_rng(5)
    tables = {}
    for seed, name in enumerate("abc"):
        jobs = np.zeros(30_000, dtype=np.int64)
        jobs[rng.choice(30_000, 1)] = 1 if name == "b" else 0
        tables[name] = table_of(name, jobs, is_sparse=is_sparse, seed=seed)
    still = TrainingSettings(algorithm="fedsgd", round_count=1, batch_rows=0, learning_rate=1e-12)
    found = rehearse(replace(settings_of(training=still), weight_max=10**9), tables).run().standardiser
    part = 1 / 90_000
    assert found.spread[1:4] == pytest.approx([np.sqrt(part * (1 - part))] * 2 + [1.0], rel=1e-12)
    assert found.mean[1:4] == pytest.approx([0.0] * 3 if is_sparse else [1 - part, part, 0.0], rel=1e-12)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_table_of_categories_alone_is_standardised(is_sparse, rehearse, settings_of) -> None:
    rng = np.random.default_rng(9)
    tables, dense = {}, []
    for name in "abc":
        jobs = np.eye(3)[rng.integers(0, 3, 50)]
        dense.append(jobs)
        features = sparse.csr_array(jobs) if is_sparse else jobs
        tables[name] = Table(features, np.arange(50) % 2, JOBS, name, indicators=JOBS)
    state = rehearse(settings_of(training=TrainingSettings(algorithm="lbfgs", round_count=2)), tables).run()
    np.testing.assert_allclose(state.standardiser.spread, np.concatenate(dense).std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("ones", [-1, 5])
def test_a_forged_number_of_rows_of_a_category_is_refused(ones: int) -> None:
    class Forged(Alone):
        def weighted_mean(self, request: SumRequest) -> Aggregate:
            found = super().weighted_mean(request)
            return replace(found, counters=found.counters | {"0/ones": ones})

    features = np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 4.0], [1.0, 3.0]])
    with pytest.raises(BoundError, match="a number of rows of one category is wrong"):
        fit_standardiser(Forged(), features, 100, indicators=(0,))


def test_a_category_of_all_rows_or_of_none_is_constant() -> None:
    told: list[ColumnFindings] = []
    table = table_of("a", np.zeros(80, dtype=np.int64), is_sparse=False, seed=1)
    found, _ = fit_standardiser(Alone(), table.features, 128, indicators=(1, 2, 3), on_columns=told.append)
    assert told[0].constant == (1, 2, 3)
    assert found.mean[1:4].tolist() == [1.0, 0.0, 0.0]
    assert found.spread[1:4].tolist() == [1.0, 1.0, 1.0]


def columns_of_all_kinds(rng: np.random.Generator, sizes: list[int]) -> np.ndarray:
    """Rows of parties of these sizes, the first one's with all of a category, far out, constant up to rounding."""
    rows = sum(sizes)
    is_first = np.arange(rows) < sizes[0]
    return np.column_stack(
        [
            is_first.astype(float),
            (np.arange(rows) == 0).astype(float),
            rng.normal(1e6, 1e-2, rows),
            np.where(np.arange(rows) == 0, 1e9, rng.normal(size=rows)),
            np.full(rows, 1e9) + rng.choice([0.0, 1e-7], rows),
            np.where(is_first, rng.lognormal(8, 3, rows), 0.0),
            np.zeros(rows),
            np.full(rows, 7.0),
        ]
    )


@pytest.mark.quick_cases("True-False-1073741824", "True-True-90", "False-True-1073741824", "False-False-90")
@pytest.mark.parametrize("weight_max", [90, 2**30])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("standardise", [True, False])
def test_no_number_of_a_gram_matrix_passes_its_bound(
    is_sparse, standardise, weight_max, rehearse, settings_of, monkeypatch
) -> None:
    asked: list[tuple[np.ndarray, float, int]] = []
    mean = PaillierAggregation.weighted_mean

    def listen(self, request):
        if request.step == GRAM_STEP:
            asked.append((request.tensors["gram"], request.bounds["gram"], request.weight))
        return mean(self, request)

    monkeypatch.setattr(PaillierAggregation, "weighted_mean", listen)
    sizes = [20, 70, 90]
    rows = columns_of_all_kinds(np.random.default_rng(3), sizes)
    names = tuple("stuvwxyz")
    tables = {
        name: Table(
            sparse.csr_array(part) if is_sparse else part, np.arange(len(part)) % 2, names, name, indicators=names[:2]
        )
        for name, part in zip("abc", np.split(rows, np.cumsum(sizes)[:-1]), strict=True)
    }
    training = TrainingSettings(algorithm="lbfgs", round_count=1, standardise=standardise)
    rehearse(replace(settings_of(training=training), weight_max=weight_max), tables).run()
    assert len(asked) == 3
    largest = {weight: np.abs(gram).max() * weight / weight_max / bound for gram, bound, weight in asked}
    assert max(largest.values()) <= 1.0
    if standardise:
        # One party's rows have most of the squares of all: more than it has rows.
        assert largest[20] > 2 * 20 / 180
    assert {bound for _, bound, _ in asked} == {(1 + ROOM) * 180 / weight_max}


def test_the_bound_of_a_gram_matrix_counts_rows_that_left_since() -> None:
    """Of a party whose rows hold all of a category its squares are as many as all rows that were standardised."""
    rows = np.column_stack([(np.arange(100) < 10).astype(float), np.random.default_rng(2).normal(size=100)])
    standardiser, reach = fit_standardiser(Alone(), rows, 1000, indicators=(0,))
    asked = []

    class Listening(Alone):
        def weighted_mean(self, request):
            asked.append(request)
            return super().weighted_mean(request)

    left = standardiser.apply(rows)[:40]
    sum_curvature(
        Listening(), left, factor=0.25, weight_max=1000, party_count=3, value_bits=24, indicators=(0,), reach=reach
    )
    gram, bound = asked[-1].tensors["gram"], asked[-1].bounds["gram"]
    assert np.abs(gram).max() * 40 / 1000 <= bound
    assert np.abs(gram).max() * 40 / 1000 > (1 + ROOM) * 40 / 1000, "which its own rows would not have held"


@pytest.mark.long
@pytest.mark.parametrize("standardise", [True, False])
def test_rare_categories_at_one_party_cost_no_rounds_and_no_loss(standardise, rehearse, settings_of) -> None:
    rng = np.random.default_rng(7)
    parts = np.geomspace(0.5, 0.002, 8)
    jobs = np.sort(rng.choice(8, 900, p=parts / parts.sum()))[::-1]  # the rare ones are the first party's
    numbers = rng.normal(size=(900, 2))
    labels = (numbers @ [1.0, -2.0] + rng.normal(size=8)[jobs] + rng.normal(size=900) > 0).astype(np.int64)
    rows = np.column_stack([numbers, np.eye(8)[jobs]])
    names = tuple(f"job={number}" for number in range(8))
    order = np.concatenate([np.arange(100), 100 + rng.permutation(800)])
    tables = {
        name: Table(rows[chosen], labels[chosen], ("u", "v", *names), name, indicators=names)
        for name, chosen in zip("abc", np.split(order, [300, 600]), strict=True)
    }
    assert tables["b"].features[:, -1].sum() == tables["c"].features[:, -1].sum() == 0
    training = TrainingSettings(algorithm="lbfgs", round_count=40, standardise=standardise)
    settings = replace(settings_of(training=training, codec=CodecSettings(value_bits=24)), weight_max=1000)
    state = rehearse(settings, tables, exactness_check=False).run()
    pooled = replace(tables["a"], features=rows, labels=labels)
    local = LocalRun(Stopwatch(), on_round=lambda record, state: None, save=lambda state: None)
    alone = train(Alone(), pooled, settings, local, party="a")
    assert state.finished
    assert state.rounds_done <= alone.rounds_done + 2
    assert state.losses[-1] == pytest.approx(alone.losses[-1], rel=2e-4)
    np.testing.assert_allclose(state.standardiser.mean, alone.standardiser.mean, atol=1e-8)
