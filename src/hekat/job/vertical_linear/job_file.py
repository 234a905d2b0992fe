"""The job file of a vertical regression: who holds what, how rows are matched, what is trained and how protected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from hekat.channel import PartyPublicKey
from hekat.data import ColumnSpecs
from hekat.errors import JobError
from hekat.job.job_head import read_columns, read_head_of, read_numbers, read_timeout
from hekat.job.party_keys import SECTION, read_party_keys
from hekat.job.section import Section
from hekat.protocol.psi.settings import DEFAULT_KEY_BITS, KINDS, IntersectionSettings
from hekat.protocol.role_names import check_role_name
from hekat.protocol.vertical_linear.hold_out import MAX_HOLD_OUT
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS, PredictionSettings
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import FixedPoint, LinearTraining, number_or_rule, refuse_setting

PROTOCOL: Final = "vertical_linear"
ALIGNED: Final = "aligned"


@dataclass(frozen=True)
class VerticalJob:
    """A checked job. `intersection` None: rows are in the same order at all parties already. `digest` is over the
    file's bytes: parties with different files are told before they start."""

    name: str
    digest: bytes
    settings: VerticalLinearSettings
    intersection: IntersectionSettings | None
    prediction: PredictionSettings
    data: str
    test_data: str | None
    timeout_s: float
    compare_centralised: bool = False
    check_exactness: bool = False
    columns: ColumnSpecs = field(default_factory=ColumnSpecs)
    sparse: bool = False
    hold_out: float = 0.0
    """The fraction of the common rows that is not trained on but measured on."""
    party_keys: Mapping[str, PartyPublicKey] = field(default_factory=dict, repr=False)
    """The key that every role signs with; none where the job leaves that open."""

    @property
    def measures(self) -> bool:
        """Whether the run predicts rows that it measures on."""
        return self.test_data is not None or self.hold_out > 0

    @property
    def intersection_kind(self) -> str:
        return ALIGNED if self.intersection is None else self.intersection.kind


def load_vertical_job(path: Path) -> VerticalJob:
    """The job at `path`, checked whole. Raises JobError or InputError with the key and the cure."""
    head = read_head_of(path, PROTOCOL)
    top = head.rest
    data = top.take("data", str)
    test_data = top.take_optional("test_data", str)
    settings = _read_settings(top)
    prediction = _read_prediction(top.take_section("prediction"), settings)
    training = settings.training.fitting_probabilities(settings.guest, prediction.receivers)
    settings = replace(settings, training=training)
    for name in settings.everyone:
        check_role_name(name)
    job = VerticalJob(
        name=head.name,
        digest=head.digest,
        settings=settings,
        intersection=_read_intersection(top.take_section("intersection"), settings),
        prediction=prediction,
        data=data,
        test_data=test_data,
        timeout_s=read_timeout(top, len(settings.everyone)),
        compare_centralised=_read_flag(top.take_section("compare"), "centralised"),
        check_exactness=_read_flag(top.take_section("checks"), "exactness"),
        columns=read_columns(top.take_section("columns")),
        sparse=top.take("sparse", bool, False),
        hold_out=_read_hold_out(top.take_section("validation")),
        party_keys=read_party_keys(top.take_section(SECTION), settings.everyone),
    )
    top.finish()
    _check_test_scores(job)
    return job


def _read_settings(top: Section) -> VerticalLinearSettings:
    model = top.take_section("model")
    task = model.take("name", str, "logistic")
    training = _read_training(top.take_section("training"), model.take("l1", float, 0.0), model.take("l2", float, 0.0))
    model.finish()
    protection = top.take_section("protection")
    kind = protection.take("kind", str, "paillier")
    _check_key_bits_belong(protection, kind)
    label_leak, column_leak = top.take_section("label_leak"), top.take_section("column_leak")
    settings = VerticalLinearSettings(
        guest=top.take("guest", str),
        hosts=top.take_texts("hosts"),
        arbiter=top.take_optional("arbiter", str),
        share_holders=top.take_optional_texts("share_holders"),
        task=task,  # type: ignore[arg-type]  # checked by VerticalLinearSettings
        classes=top.take_optional_texts("classes"),
        form=protection.take_optional("form", str),  # type: ignore[arg-type]  # checked by VerticalLinearSettings
        protection=kind,  # type: ignore[arg-type]  # checked as well
        key_bits=protection.take("key_bits", int, VerticalLinearSettings.key_bits),
        training=training,
        fixed_point=_read_fixed_point(top.take_section("fixed_point")),
        label_leak_accepted=label_leak.take_optional("accepted", str),
        column_leak_accepted=column_leak.take_optional("accepted", str),
    )
    protection.finish()
    label_leak.finish()
    column_leak.finish()
    return settings


def _check_key_bits_belong(protection: Section, kind: str) -> None:
    """Raise JobError for a key size under `lattice`, whose ring is always the same.

    Under `none` it is a setting still: prediction on shares is encrypted whatever the protection of the training is.
    """
    if kind == "lattice" and "key_bits" in protection.remaining():
        raise JobError(
            "protection.key_bits belongs to another protection",
            expected="protection.kind = 'paillier'",
            got="protection.kind = 'lattice'",
            cure="remove protection.key_bits, or say kind = 'paillier'",
        )


def _read_training(section: Section, l1: float, l2: float) -> LinearTraining:
    default = LinearTraining()
    training = LinearTraining(
        epochs=number_or_rule("epochs", section.take_optional("epochs", int), least=1),
        batch_rows=number_or_rule("batch_rows", section.take_optional("batch_rows", int)),
        learning_rate=section.take("learning_rate", float, default.learning_rate),
        optimiser=section.take("optimiser", str, default.optimiser),
        optimiser_settings=read_numbers(section.take_section("optimiser_settings")),
        l1=l1,
        l2=l2,
        standardise=section.take("standardise", bool, default.standardise),
        limit_spreads=section.take_optional("limit_spreads", float),
        patience=section.take("patience", int, default.patience),
        min_improvement=section.take("min_improvement", float, default.min_improvement),
        stop_at_loss=section.take("stop_at_loss", float, default.stop_at_loss),
        seed=section.take("seed", int, default.seed),
        calibration_rows=number_or_rule("calibration_rows", section.take_optional("calibration_rows", int)),
        reweight=section.take_optional("reweight", bool),
        stop_when_settled=section.take_optional("stop_when_settled", bool),
    )
    section.finish()
    return training


def _read_fixed_point(section: Section) -> FixedPoint:
    default = FixedPoint()
    fixed_point = FixedPoint(
        feature_bits=section.take("feature_bits", int, default.feature_bits),
        value_bits=section.take("value_bits", int, default.value_bits),
    )
    section.finish()
    return fixed_point


def _read_intersection(section: Section, settings: VerticalLinearSettings) -> IntersectionSettings | None:
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
    return IntersectionSettings(settings.guest, settings.hosts, kind, key_bits=key_bits)


def _read_prediction(section: Section, settings: VerticalLinearSettings) -> PredictionSettings:
    receivers = section.take_optional_texts("receivers")
    score_bits = section.take("score_bits", int, SCORE_BITS)
    section.finish()
    receivers = (settings.guest,) if receivers is None else receivers
    return PredictionSettings(settings.guest, settings.hosts, receivers, score_bits)


def _read_hold_out(section: Section) -> float:
    fraction = section.take("hold_out", float, 0.0)
    if "folds" in section.remaining():
        raise JobError(
            "validation.folds belongs to horizontal jobs",
            expected="validation.hold_out in a job with a guest and hosts",
            got="validation.folds",
            cure="set hold_out = 0.2, or cross-validate with hekat.estimator on one machine",
        )
    section.finish()
    if not 0 <= fraction <= MAX_HOLD_OUT:
        refuse_setting("validation.hold_out", f"0, or a fraction of up to {MAX_HOLD_OUT}", fraction)
    return fraction


def _read_flag(section: Section, key: str) -> bool:
    """The one switch of a section, off where it is not said."""
    found = section.take(key, bool, False)
    section.finish()
    return found


def _check_test_scores(job: VerticalJob) -> None:
    """Raise JobError where test data is to be scored and the one that has its labels gets no score, or a comparison has
    nothing to be made on."""
    if job.hold_out and job.test_data is not None:
        raise JobError(
            "a job measures on test_data or on rows that it holds out",
            expected="one of the two",
            got="test_data and validation.hold_out",
            cure="leave out one of them",
        )
    if job.compare_centralised and not job.measures:
        raise JobError(
            "a comparison with centralised training needs rows to compare scores on",
            expected="test_data, a name under which every party has rows, or validation.hold_out",
            got="no such line",
            cure="add test_data, rows that training does not see (on the training rows' own name a comparison says "
            "nothing of new rows), or set compare.centralised = false",
        )
    if job.measures and job.settings.guest not in job.prediction.receivers:
        raise JobError(
            "the metrics of test rows need their scores at the guest",
            expected=f"{job.settings.guest!r} among prediction.receivers",
            got=", ".join(job.prediction.receivers),
            cure="add the guest to prediction.receivers, or leave out test_data and validation.hold_out",
        )
