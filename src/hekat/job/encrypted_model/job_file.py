"""The job file of a training on an encrypted model: who has rows, who adds, who holds the key, who gets the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from hekat.channel import PartyPublicKey
from hekat.data import ColumnSpecs
from hekat.errors import JobError
from hekat.job.hold_out import read_hold_out_fraction, refuse_two_measures
from hekat.job.job_head import FOUND, read_columns, read_head_of, read_timeout
from hekat.job.party_keys import SECTION, read_party_keys
from hekat.job.section import Section
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.training_settings import EncryptedTraining
from hekat.toml_text import toml_key

PROTOCOL: Final = "encrypted_model"
_L_SETTINGS: Final = ("l1", "l2")
"""They stand under [model], as in every job, and not under [training]."""


@dataclass(frozen=True, kw_only=True)
class EncryptedModelJob:
    """A checked job of a training on an encrypted model. `digest` is over the file's bytes.

    `test_data` is what the owner's site calls rows to measure the model on; `hold_out` the fraction of the owner's own
    rows that is kept out of training for that, where the owner is a host.
    """

    name: str
    digest: bytes
    settings: EncryptedModelSettings
    data: str
    test_data: str | None
    timeout_s: float
    hold_out: float = 0.0
    columns: ColumnSpecs = field(default_factory=ColumnSpecs)
    party_keys: Mapping[str, PartyPublicKey] = field(default_factory=dict, repr=False)
    """The key that every role signs with; none where the job leaves that open."""

    @property
    def sparse(self) -> bool:
        """Whether rows are held sparse: never, a round multiplies all columns by all columns."""
        return False


def load_encrypted_model_job(path: Path) -> EncryptedModelJob:
    """The job at `path`, checked whole. Raises JobError, InputError or PolicyError with the key and the cure."""
    head = read_head_of(path, PROTOCOL)
    top = head.rest
    data = top.take("data", str)
    test_data = top.take_optional("test_data", str)
    settings = _read_settings(top)
    hold_out = _read_hold_out(top.take_section("validation"), settings, test_data)
    columns = replace(read_columns(top.take_section("columns")), fills_agreed=True)
    _check_needs_no_sums(columns)
    timeout_s = read_timeout(top, len(settings.everyone))
    party_keys = read_party_keys(top.take_section(SECTION), settings.everyone)
    _refuse_sparse(top)
    top.finish()
    return EncryptedModelJob(
        name=head.name,
        digest=head.digest,
        settings=settings,
        data=data,
        test_data=test_data,
        timeout_s=timeout_s,
        hold_out=hold_out,
        columns=columns,
        party_keys=party_keys,
    )


def _read_settings(top: Section) -> EncryptedModelSettings:
    classes = top.take_optional_texts("classes")
    model = top.take_section("model")
    task = model.take("name", str, "linear" if classes is None else "logistic")
    penalties = {name: model.take(name, float, 0.0) for name in _L_SETTINGS}
    model.finish()
    protection = top.take_section("protection")
    kind = protection.take("kind", str, EncryptedModelSettings.protection)
    _check_key_bits_belong(protection, kind)
    settings = EncryptedModelSettings(
        hosts=top.take_texts("hosts"),
        arbiter=top.take("arbiter", str),
        aggregator=top.take("aggregator", str),
        owner=top.take("owner", str),
        task=task,  # type: ignore[arg-type]  # checked by EncryptedModelSettings
        classes=classes,
        protection=kind,  # type: ignore[arg-type]  # checked as well
        key_bits=protection.take("key_bits", int, EncryptedModelSettings.key_bits),
        allow_two_parties=top.take("allow_two_parties", bool, EncryptedModelSettings.allow_two_parties),
        training=_read_training(top.take_section("training"), penalties),
    )
    protection.finish()
    return settings


def _check_key_bits_belong(protection: Section, kind: str) -> None:
    """Raise JobError for a key size under another protection than `paillier`."""
    if kind != "paillier" and "key_bits" in protection.remaining():
        raise JobError(
            "protection.key_bits belongs to another protection",
            expected="protection.kind = 'paillier'",
            got=f"protection.kind = {kind!r}",
            cure="remove protection.key_bits, or say kind = 'paillier'",
        )


def _read_training(section: Section, penalties: Mapping[str, float]) -> EncryptedTraining:
    """The fields of `EncryptedTraining` by their names; the penalties are of [model]."""
    default = EncryptedTraining()
    said: dict[str, Any] = dict(penalties)
    for one in fields(EncryptedTraining):
        if one.name not in penalties:
            usual = getattr(default, one.name)
            said[one.name] = section.take(one.name, type(usual), usual)
    section.finish()
    return EncryptedTraining(**said)


def _read_hold_out(section: Section, settings: EncryptedModelSettings, test_data: str | None) -> float:
    """The fraction of the owner's own rows to measure on: nobody else has the model. Raises JobError."""
    no_folds = JobError(
        "validation.folds belongs to jobs of protocol 'horizontal'",
        expected="validation.hold_out, or test_data",
        got="validation.folds",
        cure="set hold_out = 0.2: the owner measures the model on that part of its own rows",
    )
    fraction = read_hold_out_fraction(section, no_folds)
    refuse_two_measures(fraction, test_data)
    if fraction and not settings.owner_is_host:
        raise JobError(
            "the owner has no training rows that could be held out",
            expected="an owner among the hosts; they cannot measure a model that they cannot read",
            got=f"owner = {settings.owner!r}, and hosts {', '.join(settings.hosts)}",
            cure=f"leave out validation.hold_out, and name rows of {settings.owner} as test_data",
        )
    return fraction


def _check_needs_no_sums(columns: ColumnSpecs) -> None:
    """Raise JobError for what hosts would have to find out together about columns before they train."""
    for spec in columns:
        place = toml_key("columns", spec.name)
        if spec.found:
            raise JobError(
                f"{place}.categories refused",
                expected="a list of texts: hosts of an encrypted model sum nothing but means, spreads and steps",
                got=repr(FOUND),
                cure="list the categories that all hosts' tables can hold, with other = true for others",
            )
        if spec.joint_fill:
            raise JobError(
                f"{place}.fill refused",
                expected="a number, or one of the column's categories: hosts of an encrypted model count no cells",
                got=repr(spec.joint_fill),
                cure=f"set fill to a value that all hosts agree on under [{place}]",
            )


def _refuse_sparse(top: Section) -> None:
    if top.take("sparse", bool, False):
        raise JobError(
            "an encrypted model is trained on dense rows",
            expected="sparse = false, or no such line",
            got="sparse = true",
            cure="leave it out; a round multiplies all columns by all columns, and a model has 4,096 numbers at most",
        )
