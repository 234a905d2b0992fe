"""What every job on columns says, whatever is trained: who holds what, how rows are matched, what is measured on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from hekat.channel import PartyPublicKey
from hekat.data import ColumnSpecs
from hekat.errors import JobError
from hekat.job.hold_out import read_hold_out_fraction, refuse_two_measures
from hekat.job.section import Section
from hekat.protocol.psi.settings import DEFAULT_KEY_BITS, KINDS, IntersectionSettings

ALIGNED: Final = "aligned"


class ColumnsSettings(Protocol):
    """What the settings of every protocol on columns say of its roles."""

    @property
    def guest(self) -> str: ...

    @property
    def hosts(self) -> tuple[str, ...]: ...

    @property
    def classes(self) -> tuple[str, ...] | None: ...

    @property
    def parties(self) -> tuple[str, ...]: ...

    @property
    def everyone(self) -> tuple[str, ...]: ...

    @property
    def protection(self) -> str: ...

    @property
    def label_privacy(self) -> float | None: ...


@dataclass(frozen=True, kw_only=True)
class ColumnsJob:
    """A checked job of a guest with labels, and hosts with other columns of the same rows.

    `intersection` None: rows are in the same order at all parties already. `digest` is over the file's bytes: parties
    with different files are told before they start. `hold_out` is the fraction of the common rows that is not trained
    on but measured on. `party_keys` has the key that every role signs with; none where the job leaves that open.
    """

    name: str
    digest: bytes
    settings: ColumnsSettings
    intersection: IntersectionSettings | None
    data: str
    test_data: str | None
    timeout_s: float
    compare_centralised: bool = False
    columns: ColumnSpecs = field(default_factory=ColumnSpecs)
    sparse: bool = False
    hold_out: float = 0.0
    party_keys: Mapping[str, PartyPublicKey] = field(default_factory=dict, repr=False)

    @property
    def measures(self) -> bool:
        """Whether the run predicts rows that it measures on."""
        return self.test_data is not None or self.hold_out > 0

    @property
    def limit_spreads_said(self) -> float | None:
        """The limit on values that a regression's job names; None where it names none, or trains something else."""
        return None

    @property
    def intersection_kind(self) -> str:
        return ALIGNED if self.intersection is None else self.intersection.kind


def read_intersection(section: Section, guest: str, hosts: tuple[str, ...]) -> IntersectionSettings | None:
    """How rows are matched; None where they are in one order already. Raises JobError."""
    kind = section.take("kind", str, KINDS[0])
    key_bits = DEFAULT_KEY_BITS if kind == ALIGNED else section.take("key_bits", int, DEFAULT_KEY_BITS)
    section.finish()
    if kind == ALIGNED:
        return None
    if kind not in KINDS:
        raise JobError(
            "intersection.kind refused",
            expected=" or ".join(repr(known) for known in (*KINDS, ALIGNED)),
            got=repr(kind),
            cure="choose one of them",
        )
    return IntersectionSettings(guest, hosts, kind, key_bits=key_bits)


def read_hold_out(section: Section) -> float:
    """The fraction of the common rows to measure on. Raises JobError."""
    no_folds = JobError(
        "validation.folds belongs to horizontal jobs",
        expected="validation.hold_out in a job with a guest and hosts",
        got="validation.folds",
        cure="set hold_out = 0.2, or cross-validate with hekat.estimator on one machine",
    )
    return read_hold_out_fraction(section, no_folds)


def read_flag(section: Section, key: str) -> bool:
    """The one switch of a section, off where it is not said."""
    found = section.take(key, bool, False)
    section.finish()
    return found


def check_measured(job: ColumnsJob, guest: str, receivers: tuple[str, ...]) -> None:
    """Raise JobError where test data is to be scored and the one that has its labels gets no score, or a comparison has
    nothing to be made on."""
    refuse_two_measures(job.hold_out, job.test_data)
    if job.compare_centralised and not job.measures:
        raise JobError(
            "a comparison with centralised training needs rows to compare scores on",
            expected="test_data, a name under which every party has rows, or validation.hold_out",
            got="no such line",
            cure="add test_data, rows that training does not see (on the training rows' own name a comparison says "
            "nothing of new rows), or set compare.centralised = false",
        )
    if job.measures and guest not in receivers:
        raise JobError(
            "the metrics of test rows need their scores at the guest",
            expected=f"{guest!r} among prediction.receivers",
            got=", ".join(receivers),
            cure="add the guest to prediction.receivers, or leave out test_data and validation.hold_out",
        )
