"""The job file of a vertical regression: who holds what, how rows are matched, what is trained and how protected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from hekat.errors import JobError
from hekat.job.job_head import read_columns, read_head_of, read_numbers, read_timeout
from hekat.job.party_keys import SECTION, read_party_keys
from hekat.job.section import Section
from hekat.job.vertical.columns_job import (
    ColumnsJob,
    check_measured,
    read_flag,
    read_hold_out,
    read_intersection,
)
from hekat.protocol.role_names import check_role_name
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS, PredictionSettings
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import FixedPoint, LinearTraining, number_or_rule

PROTOCOL: Final = "vertical_linear"


@dataclass(frozen=True, kw_only=True)
class VerticalJob(ColumnsJob):
    """A checked job of a vertical regression."""

    settings: VerticalLinearSettings
    prediction: PredictionSettings
    check_exactness: bool = False

    @property
    def limit_spreads_said(self) -> float | None:
        return self.settings.training.limit_spreads


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
        intersection=read_intersection(top.take_section("intersection"), settings.guest, settings.hosts),
        prediction=prediction,
        data=data,
        test_data=test_data,
        timeout_s=read_timeout(top, len(settings.everyone)),
        compare_centralised=read_flag(top.take_section("compare"), "centralised"),
        check_exactness=read_flag(top.take_section("checks"), "exactness"),
        columns=read_columns(top.take_section("columns")),
        sparse=top.take("sparse", bool, False),
        hold_out=read_hold_out(top.take_section("validation")),
        party_keys=read_party_keys(top.take_section(SECTION), settings.everyone),
    )
    top.finish()
    check_measured(job, settings.guest, prediction.receivers)
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
    label_privacy = top.take_section("label_privacy")
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
        label_privacy=label_privacy.take_optional("epsilon", float),
    )
    protection.finish()
    label_leak.finish()
    column_leak.finish()
    label_privacy.finish()
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


def _read_prediction(section: Section, settings: VerticalLinearSettings) -> PredictionSettings:
    receivers = section.take_optional_texts("receivers")
    score_bits = section.take("score_bits", int, SCORE_BITS)
    section.finish()
    receivers = (settings.guest,) if receivers is None else receivers
    return PredictionSettings(settings.guest, settings.hosts, receivers, score_bits)
