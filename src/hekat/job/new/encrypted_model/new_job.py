"""What a new job on an encrypted model is to be: the choices of `hekat init --protocol encrypted_model`, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hekat.errors import InputError
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings

ENCRYPTED_MODEL: Final = "encrypted_model"


@dataclass(frozen=True)
class NewEncryptedModelJob:
    """One new job on tables in CSV files; `classes` empty: labels are numbers.

    Raises InputError or PolicyError for choices that no job can have.
    """

    name: str = "first-job"
    hosts: tuple[str, ...] = ("alpha", "beta", "gamma")
    owner: str = "owner"
    aggregator: str = "hub"
    arbiter: str = "arbiter"
    model: str = "logistic"
    classes: tuple[str, ...] = ("no", "yes")
    label: str = "label"
    protection: str = "lattice"
    allow_two_parties: bool = False
    data_name: str = field(default="rows", init=False)
    test_name: str = field(default="test-rows", init=False)

    def __post_init__(self) -> None:
        if self.model not in ("logistic", "linear"):
            raise InputError(
                "--model does not fit this job",
                expected="logistic or linear: hosts multiply a model that they cannot read, and no more",
                got=self.model,
                cure="choose one of them, or --protocol horizontal",
            )
        # The settings of the run say what roles, classes and protections can be.
        self.settings()

    def settings(self) -> EncryptedModelSettings:
        """The settings of the job that is written."""
        return EncryptedModelSettings(
            hosts=self.hosts,
            arbiter=self.arbiter,
            aggregator=self.aggregator,
            owner=self.owner,
            task=self.model,  # type: ignore[arg-type]  # checked by EncryptedModelSettings
            classes=self.classes or None,
            protection=self.protection,  # type: ignore[arg-type]  # checked as well
            allow_two_parties=self.allow_two_parties,
        )

    def source_of(self, who: str) -> Mapping[str, Any]:
        """The options of a role's data source, a CSV file."""
        return {"path": f"data/{who}.csv", "label": self.label}
