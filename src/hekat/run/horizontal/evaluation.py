"""Metrics of a model in training, on the test data of this machine."""

from __future__ import annotations

from collections.abc import Callable

from hekat.model import evaluate
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.run.horizontal.load_inputs import HorizontalInputs


def evaluation_of(inputs: HorizontalInputs) -> Callable[[TrainingState], dict[str, float]]:
    """Metrics of a state on this machine's test data, empty where there is none."""
    test = inputs.test_table
    if test is None or test.labels is None:
        return lambda state: {}
    model, labels = inputs.make_model(next(iter(inputs.tables))).model, test.labels

    def evaluate_state(state: TrainingState) -> dict[str, float]:
        parameters = state.standardiser.in_label_units(model, state.parameters)
        return evaluate(model, parameters, state.standardiser.apply(test.features), labels)

    return evaluate_state
