"""What a new job of one guest and its hosts is to be: the choices of `hekat init --protocol`, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hekat.errors import InputError
from hekat.job.new.trees.columns import columns_for_trees

GUEST_PROTOCOLS = ("vertical_linear", "vertical_trees", "vertical_network", "psi")
MODELS = ("logistic", "linear")
TREE_PROTECTIONS = ("lattice", "paillier")


@dataclass(frozen=True)
class NewGuestJob:
    """One new regression, training of trees or of a network, or set intersection, on tables in CSV files unless `kinds`
    says otherwise.

    `arbiter` and `model` are for a regression; `classes` (none: numbers) and `label` are for what trains, `hold_out` is
    the part of the common rows to measure it on. `sources` are the options of parties' data sources as the site file
    says them, where tables were looked at, and `columns` is what the job says of columns. `protection` is of trees;
    with `waives_bin_leak` the job says, and the site allows, that the guest may learn bins of hosts. `is_sealed` is of
    networks: all of it lies in shares. Raises InputError for choices that do not go together.
    """

    protocol: str
    name: str = "first-job"
    guest: str = "alpha"
    hosts: tuple[str, ...] = ("beta",)
    arbiter: str | None = None
    model: str = "logistic"
    classes: tuple[str, ...] = ("no", "yes")
    label: str = "label"
    id: tuple[str, ...] = ("id",)
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    hold_out: float = 0.0
    protection: str = "lattice"
    waives_bin_leak: bool = False
    is_sealed: bool = False
    data_name: str = field(default="rows", init=False)

    def __post_init__(self) -> None:
        if self.protocol not in GUEST_PROTOCOLS:
            _refuse("--protocol", " or ".join(GUEST_PROTOCOLS), self.protocol, "choose one of them")
        roles = (*self.parties, *(() if self.arbiter is None else (self.arbiter,)))
        if len(set(roles)) < len(roles):
            _refuse("--hosts", "a different name for each role", ", ".join(roles), "rename one of them")
        if not self.trains:
            return
        if self.is_trees:
            object.__setattr__(self, "columns", columns_for_trees(self.columns))
            if self.protection not in TREE_PROTECTIONS:
                _refuse("--protection", " or ".join(TREE_PROTECTIONS), self.protection, "choose one of them")
        if self.is_sealed:
            others = "with --protocol vertical_linear all lies in shares too"
            if len(self.hosts) != 1:
                cure = f"name one host; {others}, among any number of parties"
                expected = "one host: a network that keeps columns is of two parties"
                _refuse("--fear-for columns", expected, ", ".join(self.hosts), cure)
            if len(self.classes) != 2:
                cure = f"of two classes name them: --classes no,yes; {others}, of more classes or numbers"
                got = ", ".join(self.classes) or "none"
                _refuse("--fear-for columns", "two classes: a network that keeps columns has no others", got, cure)
        if not self.is_regression:
            if self.classes and len(set(self.classes)) < max(2, len(self.classes)):
                _refuse("--classes", "two different classes or more", ", ".join(self.classes), "name them: no,yes")
            return
        if self.model not in MODELS:
            _refuse("--model", " or ".join(MODELS), self.model, "choose one of them for a vertical job")
        if self.model == "linear" and self.classes:
            _refuse("--classes", "none with --model linear", ", ".join(self.classes), "leave out --classes")
        if self.model == "logistic" and len(set(self.classes)) < max(2, len(self.classes)):
            _refuse(
                "--classes", "two different classes or more", ", ".join(self.classes) or "none", "name them: no,yes"
            )

    @property
    def trains(self) -> bool:
        """Whether a model is trained on what is common."""
        return self.protocol != "psi"

    @property
    def is_trees(self) -> bool:
        """Whether that model is of boosted trees."""
        return self.protocol == "vertical_trees"

    @property
    def is_network(self) -> bool:
        """Whether that model is a split network."""
        return self.protocol == "vertical_network"

    @property
    def is_regression(self) -> bool:
        """Whether that model is a regression."""
        return self.protocol == "vertical_linear"

    @property
    def parties(self) -> tuple[str, ...]:
        return (self.guest, *self.hosts)

    @property
    def key_makers(self) -> tuple[str, ...]:
        """The roles that make a Paillier key: the arbiter, or without one guest and hosts; of trees, the guest."""
        if self.is_trees:
            return (self.guest,) if self.protection == "paillier" else ()
        if not self.is_regression:
            return ()
        return self.parties if self.arbiter is None else (self.arbiter,)

    def kind_of(self, party: str) -> str:
        """The kind of a party's data source."""
        return self.kinds.get(party, "csv")

    def source_of(self, party: str) -> Mapping[str, Any]:
        """The options of a party's data source; paths as in the site file."""
        usual: dict[str, Any] = {"path": f"data/{party}.csv", "id": self.id[0] if len(self.id) == 1 else list(self.id)}
        if self.trains and party == self.guest:
            usual["label"] = self.label
        return self.sources.get(party) or usual


def _refuse(option: str, expected: str, got: str, cure: str) -> None:
    raise InputError(f"{option} does not fit this job", expected=expected, got=got[:80], cure=cure)
