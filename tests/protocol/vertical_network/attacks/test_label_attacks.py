"""What a host finds of labels: all from gradients as they are, its odds and no more from labels that answer once.

Bounds are of a row, beyond what its features tell; scores on a few thousand rows come within two hundredths of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.protocol.vertical.label_privacy import RandomisedResponse

ROWS, BATCH_ROWS, EPOCHS, SEED = 2_560, 512, 10, 3


def answered(labels: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    """Unbiased targets of labels that were flipped with draws of this seed."""
    response = RandomisedResponse(epsilon, 2)
    draws = np.random.default_rng(seed).integers(0, 2**64, (len(labels), 2), np.uint64)
    return response.unbiased_targets(response.answer(labels, draws))[:, 1]


@pytest.fixture(scope="module")
def columns(attacks: Any) -> Any:
    return attacks.watched_network.draw_split_columns(ROWS, SEED)


def train(attacks: Any, columns: Any, epsilon: float | None = None, noise: Any = None) -> list[Any]:
    targets = None if epsilon is None else answered(columns.labels, epsilon, 7)
    return list(make_network(attacks, columns, "trained", targets, noise).train(EPOCHS))


def make_network(attacks: Any, columns: Any, host_bottom: str, *more: Any, batch_rows: int = BATCH_ROWS) -> Any:
    return attacks.watched_network.SplitNetwork(columns, host_bottom, SEED, *more, batch_rows=batch_rows)


def scores(attacks: Any, columns: Any, batches: list[Any]) -> dict[str, float]:
    """The attacks' AUCs: in first batches, last batches, and over all epochs."""
    tried, labels = attacks.on_labels, columns.labels
    found = {
        f"{attack.__name__} {when}": float(np.mean([attack(batch.host_slopes, labels[batch.rows]) for batch in some]))
        for attack in (tried.norm_of_rows, tried.direction_of_rows)
        for when, some in (("first", batches[:4]), ("last", batches[-4:]))
    }
    found["known_labels_added"] = tried.known_labels_added(batches, labels)
    print({name: round(score, 3) for name, score in found.items()})
    return found


def test_gradients_of_a_trained_bottom_tell_every_label(attacks: Any, columns: Any) -> None:
    found = scores(attacks, columns, train(attacks, columns))
    # Norms differ once the model knows how rare a class is.
    assert found["norm_of_rows last"] > 0.75
    assert found["direction_of_rows first"] > 0.98
    assert found["direction_of_rows last"] > 0.98
    assert found["known_labels_added"] > 0.98


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0])
@pytest.mark.quick_cases("1.0")
def test_labels_that_answer_once_bound_every_attack_over_all_epochs(attacks: Any, columns: Any, epsilon: float) -> None:
    found = scores(attacks, columns, train(attacks, columns, epsilon))
    bound = RandomisedResponse(epsilon, 2).auc_bound
    assert max(found.values()) < bound + 0.02
    # They find what they may: a bound that nothing comes near would be a broken attack.
    assert found["known_labels_added"] > bound - 0.06


def test_fresh_noise_hides_single_batches_and_adds_up_over_epochs(attacks: Any, columns: Any) -> None:
    noise = attacks.gradient_noise.GradientNoise("max-norm", ROWS, SEED)
    found = scores(attacks, columns, train(attacks, columns, noise=noise))
    assert found["norm_of_rows last"] < 0.6
    assert found["known_labels_added"] > 0.85


def test_flips_drawn_anew_in_each_epoch_add_up(attacks: Any, columns: Any) -> None:
    """Why labels answer once: ten answers at epsilon 1 tell what one answer at a much larger epsilon would."""
    network = make_network(attacks, columns, "trained")
    batches = []
    for epoch in range(EPOCHS):
        network.targets = answered(columns.labels, 1.0, epoch)
        batches += network.train(1)
    found = attacks.on_labels.known_labels_added(batches, columns.labels)
    print(round(found, 3))
    assert found > RandomisedResponse(1.0, 2).auc_bound + 0.1


@pytest.mark.parametrize("host_bottom", ["frozen", "source"])
def test_a_bottom_that_does_not_train_gets_no_gradient(attacks: Any, columns: Any, host_bottom: str) -> None:
    network = make_network(attacks, columns, host_bottom)
    assert [batch.host_slopes for batch in network.train(1)] == [None] * 4


@pytest.mark.long
def test_features_trained_on_labels_complete_a_model_from_forty_of_them(attacks: Any) -> None:
    """Labels say whether two of the host's columns lie in a circle: a head on its columns, or on fixed features, finds
    little; features that training made tell it."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(ROWS, 12))
    labels = (X[:, 4] ** 2 + X[:, 5] ** 2 + 0.2 * rng.normal(size=ROWS) > 1.4).astype(np.int64)
    train, test = np.arange(2_048), np.arange(2_048, ROWS)
    columns = attacks.watched_network.SplitColumns(X[:, :4], X[:, 4:], labels, train, test)
    features = {"columns": X[test, 4:]}
    for bottom in ("frozen", "trained"):
        network = make_network(attacks, columns, bottom, batch_rows=128)
        list(network.train(10))
        features[bottom] = network.host_features(test)
    complete = attacks.on_labels.model_completion
    found = {name: complete(values, labels[test], 40, 12) for name, values in features.items()}
    print({name: round(score, 3) for name, score in found.items()})
    assert found["trained"] > 0.8
    assert max(found["columns"], found["frozen"]) < 0.62
