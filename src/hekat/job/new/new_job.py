"""The choices of `hekat init` for a new job on rows, checked, with defaults for beginners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hekat.data import SOURCE_KINDS
from hekat.errors import InputError
from hekat.job.new.trees.columns import columns_for_trees
from hekat.protocol.secure_sum.settings import check_parties

MODELS = ("logistic", "mlp", "linear", "torch")
DATA_KINDS = SOURCE_KINDS
PROTECTIONS = ("lattice", "paillier")
ROW_PROTOCOLS = ("horizontal", "horizontal_trees")
ENDINGS = {
    "csv": "csv",
    "parquet": "parquet",
    "sql": "db",
    "excel": "xlsx",
    "libsvm": "svm",
    "npz": "npz",
    "npy": "npy",
}
# Kinds whose columns have names, including the label's.
NAMED_KINDS = ("csv", "parquet", "sql", "excel")
EXAMPLE_TABLE = "visits"
_PLACES = ("path", "url", "url_variable")
EXAMPLE_MODULE, EXAMPLE_COLUMNS = "example_rows", ("age", "dose", "days")
NET_MODULE, NET_NAME = "my_net", "my-net"


@dataclass(frozen=True)
class NewJob:
    """One new job. `sources` are the options of parties' data sources as the site file says them, where tables were
    looked at, and `kinds` their kinds, which may differ; another party has the kind and the options of the first, with
    a path of its own. `columns` is what the job says of columns, `hold_out` the part of each party's rows to validate
    on, `rounds` the most rounds, or iterations of trees. Trees have no `model` to choose.

    Raises PolicyError for parties that cannot be, InputError for a model, kind of data or protection that a new job
    cannot have, and for classes that do not fit the model.
    """

    protocol: str = "horizontal"
    name: str = "first-job"
    parties: tuple[str, ...] = ("alpha", "beta", "gamma")
    aggregator: str = "hub"
    model: str = "logistic"
    data_kind: str = "csv"
    protection: str = "lattice"
    classes: tuple[str, ...] = ("no", "yes")
    label: str = "label"
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hold_out: float = 0.0
    is_example: bool = False
    allow_two_parties: bool = False
    rounds: int | None = None
    weight_max: int = 100_000
    data_name: str = field(default="rows", init=False)
    test_name: str = field(default="test-rows", init=False)

    def __post_init__(self) -> None:
        _check_choice("--protocol", self.protocol, ROW_PROTOCOLS)
        check_parties(self.parties, self.aggregator, allow_two_parties=self.allow_two_parties)
        _check_choice("--model", self.model, MODELS)
        _check_choice("--data", self.data_kind, DATA_KINDS)
        _check_choice("--protection", self.protection, PROTECTIONS)
        if self.is_trees:
            object.__setattr__(self, "columns", columns_for_trees(self.columns))
        elif self.model == "linear" and self.classes:
            raise InputError(
                "a linear model has no classes",
                expected="no --classes with --model linear",
                got=", ".join(self.classes),
                cure="leave out --classes, or choose --model logistic",
            )
        # A network predicts numbers too, and so do trees.
        needs_classes = bool(self.classes) or (self.model == "logistic" and not self.is_trees)
        if needs_classes and len(set(self.classes)) < max(2, len(self.classes)):
            others = "" if self.is_trees else "; for labels that are numbers choose --model linear, mlp or torch"
            raise InputError(
                "trees that tell classes apart need them" if self.is_trees else f"a {self.model} model needs classes",
                expected="two different classes or more",
                got=", ".join(self.classes) or "none",
                cure=f"name them: --classes no,yes{others}",
            )

    @property
    def is_trees(self) -> bool:
        """Whether boosted trees are grown."""
        return self.protocol == "horizontal_trees"

    @property
    def model_name(self) -> str:
        """The job's name for its model: a name of Hekat's, or the name of the code beside the site file."""
        return NET_NAME if self.model == "torch" else self.model

    @property
    def has_test_data(self) -> bool:
        return self.is_example

    def kind_of(self, who: str) -> str:
        """The kind of the data source of a party, or of the test set by its name."""
        return self.kinds.get(who, self.data_kind)

    def source_of(self, who: str) -> Mapping[str, Any]:
        """The options of the data source of a party, or of the test set by its name."""
        if self.data_kind == "python":
            return {"function": f"{EXAMPLE_MODULE}:load", "arguments": {"who": who}}
        path = self.path_of(who)
        if self.sources:
            first = self.sources[self.parties[0]]
            elsewhere = {"path": path} if "path" in first else {"url": f"sqlite:///{path}"}
            return self.sources.get(who) or {
                **elsewhere,
                **{key: one for key, one in first.items() if key not in _PLACES},
            }
        if self.data_kind == "sql":
            return {"url": f"sqlite:///{path}", "table": EXAMPLE_TABLE, "label": self.label}
        if self.data_kind == "npy":
            return {"features": path, "labels": self.labels_path_of(who)}
        if self.data_kind == "libsvm":
            return {"path": path, "columns": len(EXAMPLE_COLUMNS)}
        if self.data_kind not in NAMED_KINDS:
            return {"path": path}
        return {"path": path, "label": self.label}

    def path_of(self, who: str) -> str:
        """Where a party's rows lie by default, beside the site file."""
        return f"data/{who}.{ENDINGS[self.data_kind]}"

    def labels_path_of(self, who: str) -> str:
        """Where labels lie that are in a file of their own."""
        return f"data/{who}.labels.npy"


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(
            f"{option} {value!r:.40} is not known",
            expected=" or ".join(choices),
            got=repr(value),
            cure="choose one of them",
        )
