"""L-BFGS over sums: it ends where scikit-learn ends, whatever columns look like, and its kept loss never rises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from tests.protocol.horizontal.rehearsal import Rehearsal

from hekat.data import Table
from hekat.errors import InputError
from hekat.protocol.horizontal.settings import HorizontalSettings, ModelSettings, TrainingSettings
from hekat.protocol.horizontal.training.gram import Curvature, gram_value_count, is_aggregate, triangle_of
from hekat.protocol.horizontal.training.line_search import LineSearchStep, RoundTotals, penalty_of
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.secure_sum.settings import CodecSettings

PARTIES = ("a", "b", "c")
COLUMNS = ("u", "v", "w", "x")
SEARCH = TrainingSettings(algorithm="lbfgs", round_count=100)
CLASSES = {"two": ("no", "yes"), "three": ("low", "middle", "high"), "number": None}
UNITS = np.array([1.0, 1e4, 1e-6, 7.0])


def make_tables(kind: str, *, rows=(120, 45, 80), seed: int = 3, long_tails: bool = False) -> dict[str, Table]:
    """Parties whose columns are shifted against each other, in units far apart."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=4)
    tables = {}
    for name, count in zip(PARTIES, rows, strict=False):
        values = rng.normal(size=(count, 4)) + 0.5 * rng.normal(size=4)
        score = values @ direction + 0.7 * rng.normal(size=count)
        labels = score * 40 + 7 if kind == "number" else np.digitize(score, [0.0, 1.2][: len(CLASSES[kind]) - 1])
        features = (np.exp(2 * values) if long_tails else values) * UNITS
        tables[name] = Table(features, labels if kind == "number" else labels.astype(np.int64), COLUMNS, name)
    return tables


def make_settings(kind: str, training: TrainingSettings = SEARCH, **others) -> HorizontalSettings:
    model = others.pop("model", ModelSettings("linear" if kind == "number" else "logistic"))
    parties = others.pop("parties", PARTIES)
    defaults = {"protection": "none", "codec": CodecSettings(value_bits=24), "allow_two_parties": True}
    return HorizontalSettings(
        parties, "hub", CLASSES[kind], 10**6, model=model, training=training, **{**defaults, **others}
    )


def pooled(tables: dict[str, Table]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([t.features for t in tables.values()]), np.concatenate([t.labels for t in tables.values()])


def loss_of_reference(kind: str, tables: dict[str, Table], l2: float | None = None) -> float:
    """The objective at its minimum, found by scikit-learn on the pooled rows, standardised."""
    X, y = pooled(tables)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    n = len(y)
    if kind == "number":
        best = Ridge(alpha=l2 * n).fit(X, y) if l2 else LinearRegression().fit(X, y)
        return np.mean((best.predict(X) - y) ** 2) / 2 + (l2 or 0) / 2 * np.sum(best.coef_**2)
    l2 = 1 / n if l2 is None else l2
    best = LogisticRegression(C=1 / (n * l2), tol=1e-9, max_iter=5000).fit(X, y)
    picked = best.predict_log_proba(X)[np.arange(n), y]
    return -picked.mean() + l2 / 2 * np.sum(best.coef_**2)


@pytest.mark.quick_values
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("long_tails", [False, True])
def test_training_settles_where_scikit_learn_does(kind, long_tails) -> None:
    tables = make_tables(kind, long_tails=long_tails)
    rehearsal = Rehearsal(make_settings(kind), tables)
    state = rehearsal.run()
    assert state.finished
    assert state.rounds_done <= (3 if kind == "number" else 40)
    best = loss_of_reference(kind, tables)
    assert best - 1e-9 <= state.losses[-1] <= best * (1 + 2e-4) + 1e-7
    assert all(after <= before for before, after in zip(state.losses, state.losses[1:], strict=False))


@pytest.mark.parametrize("kind", CLASSES)
def test_a_penalty_that_the_job_names_is_the_models_own(kind) -> None:
    tables = make_tables(kind)
    name = "linear" if kind == "number" else "logistic"
    state = Rehearsal(make_settings(kind, model=ModelSettings(name, l2=0.2)), tables).run()
    assert penalty_of(state.optimiser_state) == 0.0
    assert state.losses[-1] == pytest.approx(loss_of_reference(kind, tables, 0.2), rel=2e-4)


@pytest.mark.parametrize("kind", CLASSES)
def test_columns_in_units_far_apart_need_no_standardising(kind) -> None:
    """A penalty depends on the units, so there is next to none."""
    tables = make_tables(kind)
    model = ModelSettings("linear" if kind == "number" else "logistic", l2=1e-30)
    training = replace(SEARCH, standardise=False)
    state = Rehearsal(make_settings(kind, training, model=model), tables).run()
    assert state.finished
    assert state.losses[-1] <= loss_of_reference(kind, tables, 1e-9) * (1 + 2e-4) + 1e-7


def test_a_network_is_searched_without_a_gram_matrix() -> None:
    settings = make_settings("three", model=ModelSettings("mlp", hidden=(5,), seed=2))
    state = Rehearsal(settings, make_tables("three")).run()
    assert not state.optimiser_state["inverse"].size
    assert all(after <= before for before, after in zip(state.losses, state.losses[1:], strict=False))
    assert state.losses[-1] < 0.6 * state.losses[0]


def test_sparse_rows_give_the_same_triangle() -> None:
    features = make_tables("two")["a"].features
    unit = 2.0 ** np.arange(5)
    np.testing.assert_allclose(triangle_of(csr_array(features), unit), triangle_of(features, unit), rtol=1e-12)


def test_the_gram_matrix_is_of_all_rows_and_leaves_the_scale_out() -> None:
    tables = make_tables("number")
    X, _ = pooled(tables)
    training = replace(SEARCH, standardise=False)
    state = Rehearsal(make_settings("number", training), tables).run()
    A = np.column_stack([np.ones(len(X)), X]) / state.optimiser_state["scale"]
    np.testing.assert_allclose(state.optimiser_state["inverse"] @ (A.T @ A / len(X)), np.eye(5), atol=1e-6)


class TestWhenTheGramMatrixIsSummed:
    def test_not_of_few_rows(self) -> None:
        tables = make_tables("two", rows=(9, 10, 12))
        assert not is_aggregate(31, 4)
        state = Rehearsal(make_settings("two"), tables).run()
        assert not state.optimiser_state["inverse"].any()
        assert state.finished
        assert state.losses[-1] == pytest.approx(loss_of_reference("two", tables), rel=1e-3)

    def test_the_least_rows_hold_ten_times_its_numbers(self) -> None:
        assert is_aggregate(38, 4)
        assert not is_aggregate(37, 4)
        assert gram_value_count(4) == 15

    @pytest.mark.parametrize(("rows", "is_summed"), [((200, 37), False), ((200, 38), True)])
    def test_of_two_parties_each_needs_rows_enough(self, rows, is_summed) -> None:
        tables = make_tables("two", rows=rows)
        state = Rehearsal(make_settings("two", parties=PARTIES[:2]), tables).run()
        assert bool(state.optimiser_state["inverse"].any()) is is_summed
        assert state.finished


def test_collinear_and_constant_columns_settle() -> None:
    tables = make_tables("two")
    for name, table in tables.items():
        features = table.features.copy()
        features[:, 1], features[:, 2] = 3 * features[:, 0], 5.0
        tables[name] = replace(table, features=features)
    state = Rehearsal(make_settings("two"), tables).run()
    assert state.finished
    assert all(np.abs(values).max() < 10 for values in state.parameters.values())


@pytest.mark.long
def test_a_resumed_search_ends_with_the_same_bits() -> None:
    tables, settings = make_tables("three"), make_settings("three", validation=ValidationSettings(hold_out=0.2))
    through = Rehearsal(settings, tables)
    end = through.run()
    assert end.rounds_done > 4
    for stopped in through.saved[1], through.saved[3]:
        resumed = Rehearsal(settings, tables, resume_from=stopped).run()
        assert resumed.losses == end.losses
        assert all((resumed.parameters[name] == values).all() for name, values in end.parameters.items())


def test_the_last_round_allowed_leaves_the_best_model_seen() -> None:
    tables = make_tables("two")
    rehearsal = Rehearsal(make_settings("two", replace(SEARCH, round_count=2)), tables)
    state = rehearsal.run()
    assert not state.optimiser_state["settled"]
    kept = state.optimiser_state["point"] / state.optimiser_state["scale"]
    np.testing.assert_array_equal(np.concatenate([state.parameters["bias"], state.parameters["weight"][:, 0]]), kept)


def test_a_curvature_without_rows_behind_it_is_no_inverse() -> None:
    assert not Curvature(5).inverse(0.1).size


@pytest.mark.parametrize(
    ("training", "codec"),
    [
        ({"local_epochs": 2}, {}),
        ({"batch_rows": 0}, {}),
        ({"learning_rate": 0.5}, {}),
        ({"optimiser": "adam"}, {}),
        ({"optimiser_settings": {"decay": 0.5}}, {}),
        ({"error_feedback": True}, {}),
        ({"keep": 0.5}, {}),
        ({}, {"clipping": "fixed", "alpha": 1.0}),
        ({}, {"alpha": 1.0}),
        ({}, {"target_clipped_fraction": 0.1}),
    ],
)
def test_a_setting_without_effect_is_refused(training, codec) -> None:
    with pytest.raises(InputError, match="has no effect") as refused:
        make_settings("two", replace(SEARCH, **training), codec=CodecSettings(value_bits=24, **codec))
    assert "choose fedavg" in refused.value.cure


def test_a_model_of_ones_own_and_samples_are_refused() -> None:
    with pytest.raises(InputError, match=r"training\.algorithm"):
        make_settings("two", model=ModelSettings("ours"))
    with pytest.raises(InputError, match=r"training\.participation"):
        make_settings("two", replace(SEARCH, participation=0.5), parties=tuple("abcdefgh"))


def test_who_claims_a_clipped_value_in_every_round_does_not_end_training() -> None:
    """The search looks ever nearer, since it knows no loss; that is not a search that has settled."""
    step = LineSearchStep(TrainedTensors(("weight",)), {"weight": (3, 1)}, is_least_squares=False)
    state = step.init_state(Curvature(30), penalty=0.0, own_penalty=0.0)
    point = {"weight": np.zeros((3, 1))}
    slope = {"weight": np.ones((3, 1))}
    point, state = step.apply(point, slope, state, RoundTotals(0.7, 0.0, 30, is_clipped=False))
    for _ in range(40):
        point, state = step.apply(point, slope, state, RoundTotals(0.7, 0.0, 30, is_clipped=True))
        assert not state["settled"]
