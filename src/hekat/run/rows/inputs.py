"""What a run on rows needs before it starts, whatever it trains: a checked job with this machine's tables and keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from hekat.channel import PartyKey
from hekat.data import Table
from hekat.job.rows.rows_job import RowsJob
from hekat.job.site_file import Site
from hekat.protocol.secure_sum.sum_plan import SumPlan
from hekat.scheme.paillier import KeyPair
from hekat.summary.horizontal.table_facts import TableFacts


@dataclass(frozen=True, kw_only=True)
class RowsInputs(ABC):
    """A checked job with this machine's tables. `key_pair` is the leader's, where its site keeps one.

    `party_keys` are the signing keys that the site keeps; parties without one sign with a key made for the run.
    """

    job: RowsJob
    site: Site
    tables: dict[str, Table]
    test_table: Table | None
    key_pair: KeyPair | None = field(repr=False)
    party_keys: dict[str, PartyKey] = field(default_factory=dict, repr=False)
    roles: tuple[str, ...] = ()
    """The roles that this machine plays."""
    launched_together: bool = False
    """One process launched every role of the job here, so that this role's records may lie with the run."""

    @abstractmethod
    def plan_sums(self, done: int) -> SumPlan:
        """The run's groups of sums, and those ahead of a run that goes on after so many rounds or iterations."""

    @abstractmethod
    def split(self, table: Table) -> tuple[Table, Table | None]:
        """(rows that are trained on, rows held out or None) of a party's table."""

    def check_budgets(self, rounds_done: int) -> None:
        """Raise a HekatError where the rounds ahead would tell more of rows here than their sites grant; to be called
        before anything is trained."""
        return None

    def describe(self, table: Table) -> TableFacts:
        """The facts of a party's table."""
        return TableFacts.of(table, self.job.settings.classes, self.split(table)[1])

    @property
    def test_facts(self) -> TableFacts | None:
        """The test data in figures, among them how many of its rows the tables here hold."""
        if self.test_table is None:
            return None
        training = [self.split(table)[0] for table in self.tables.values()]
        return TableFacts.of_test(self.test_table, self.job.settings.classes, training)

    @property
    def column_count(self) -> int:
        """Columns of every table here, once categories are encoded."""
        return int(next(iter(self.tables.values())).features.shape[1])

    def accepts_other_sums(self, role: str) -> bool:
        """Whether the role's operator allowed this job to sum other parties than before."""
        site = self.site.parties.get(role)
        return site is not None and self.job.digest in site.other_sums
