"""The model that the owner is given: a file as every linear model's, and its metrics on the owner's rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hekat.data import Table, arrange_columns, describe_schema_difference
from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.model import Parameters, evaluate, make_model
from hekat.model.model import Model
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.horizontal.training.standardise import Standardiser
from hekat.run.horizontal.trained_model import describe_model, save_standardised_model


@dataclass(frozen=True)
class StandardisedModel:
    """The same model as one of Hekat's own, of standardised columns."""

    model: Model
    parameters: Parameters = field(repr=False)
    standardiser: Standardiser = field(repr=False)

    @property
    def parameter_count(self) -> int:
        """How many numbers it has."""
        return sum(values.size for values in self.parameters.values())

    @property
    def largest_weight(self) -> float:
        """The largest magnitude of a weight, of columns with spread 1."""
        return float(np.abs(self.parameters["weight"]).max())


def standardised(job: EncryptedModelJob, owned: OwnedModel) -> StandardisedModel:
    """The owner's model with its columns' means and spreads beside the weights, and not within them."""
    classes = None if owned.classes is None else len(owned.classes)
    model = make_model(owned.task, len(owned.columns), classes, l2=job.settings.training.l2)
    parameters = {
        "weight": owned.weights * owned.spreads[:, np.newaxis],
        "bias": owned.intercept + owned.means @ owned.weights,
    }
    return StandardisedModel(model, parameters, Standardiser(owned.means, owned.spreads))


def save_owned_model(folder: Path, job: EncryptedModelJob, owned: OwnedModel) -> None:
    """Write model.npz into `folder`, in place of one after fewer rounds, whole or not at all, mode 0600. Raises
    StateError."""
    made = standardised(job, owned)
    metadata = describe_model(
        job=job.name,
        model=owned.task,
        l2=job.settings.training.l2,
        classes=owned.classes,
        columns=owned.columns,
        column_specs=job.columns,
        rounds=owned.round_number,
    )
    save_standardised_model(folder, metadata, made.parameters, made.standardiser)


def measure(job: EncryptedModelJob, owned: OwnedModel, rows: Table) -> dict[str, float]:
    """Metrics of the model on labelled rows with its columns, in whatever order."""
    made, arranged = standardised(job, owned), arrange_columns(rows, owned.columns)
    assert arranged.labels is not None  # loading refused rows without
    features = made.standardiser.apply(arranged.features)
    return evaluate(made.model, made.parameters, features, arranged.labels)


def why_not_measured(owned: OwnedModel, rows: Table) -> str:
    """How the columns of `rows` differ from the model's, for a reader; "" where they fit in some order."""
    arranged = arrange_columns(rows, owned.columns)
    return describe_schema_difference(owned.columns, arranged.feature_names)
