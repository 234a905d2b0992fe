"""The job file: what is trained together, by whom and how; the same bytes at every party."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from hekat.errors import JobError
from hekat.job.section import Section, check_format, parse_toml, read_bytes
from hekat.protocol.horizontal.settings import (
    PROTECTIONS,
    CodecSettings,
    HorizontalSettings,
    ModelSettings,
    TrainingSettings,
)

JOB_FORMAT = 1
TIMEOUT_S_PER_PARTY = 120.0
_KEYS_OF_PROTECTIONS = {"key_bits": "paillier", "opening": "lattice", "authority": "lattice"}
MAX_TIMEOUT_S = 7 * 24 * 3600.0


@dataclass(frozen=True)
class Job:
    """A checked job. `digest` is over the file's bytes: parties with different files are told before they start."""

    name: str
    digest: bytes
    settings: HorizontalSettings
    data: str
    test_data: str | None
    compare_alone: bool
    compare_plain: bool
    check_exactness: bool
    timeout_s: float


def load_job(path: Path) -> Job:
    """The job at `path`, checked whole. Raises JobError, InputError or PolicyError with the key and the cure."""
    data_bytes = read_bytes(path, "job file")  # once: the digest is of the very bytes that are parsed
    top = parse_toml(data_bytes, path, "job file")
    check_format(top, JOB_FORMAT, "job file")
    protocol = top.take("protocol", str)
    if protocol != "horizontal":
        raise JobError(
            "there is no such protocol", expected="'horizontal'", got=repr(protocol), cure='set protocol = "horizontal"'
        )
    name = top.take("name", str)
    data = top.take("data", str)
    test_data = top.take_optional("test_data", str)
    settings = _read_settings(top)
    timeout_s = _read_timeout(top, len(settings.parties))
    compare = top.take_section("compare")
    compare_alone = compare.take("alone", bool, False)
    compare_plain = compare.take("plain", bool, False)
    compare.finish()
    checks = top.take_section("checks")
    check_exactness = checks.take("exactness", bool, False)
    checks.finish()
    top.finish()
    return Job(
        name=name,
        digest=hashlib.sha256(data_bytes).digest(),
        settings=settings,
        data=data,
        test_data=test_data,
        compare_alone=compare_alone,
        compare_plain=compare_plain,
        check_exactness=check_exactness,
        timeout_s=timeout_s,
    )


def _read_timeout(top: Section, party_count: int) -> float:
    """Seconds a role waits for a message. Roles take turns on this machine, so the default grows with the parties."""
    timeout_s = top.take("timeout_s", float, TIMEOUT_S_PER_PARTY * party_count)
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise JobError(
            "timeout_s refused",
            expected=f"seconds above 0, up to {MAX_TIMEOUT_S:g} (7 days)",
            got=str(timeout_s),
            cure="change timeout_s, or leave it out",
        )
    return timeout_s


def _read_settings(top: Section) -> HorizontalSettings:
    protection = top.take_section("protection")
    kind = protection.take("kind", str, "lattice")
    _check_belongs(protection, kind)
    opening = protection.take("opening", str, "committee")
    authority = protection.take_optional("authority", str)
    key_bits = protection.take("key_bits", int, 3072)
    protection.finish()
    return HorizontalSettings(
        parties=top.take_texts("parties"),
        aggregator=top.take("aggregator", str),
        classes=top.take_optional_texts("classes"),
        weight_max=top.take("weight_max", int),
        allow_two_parties=top.take("allow_two_parties", bool, False),
        protection=kind,  # type: ignore[arg-type]  # checked by HorizontalSettings
        opening=opening,  # type: ignore[arg-type]  # checked by HorizontalSettings
        authority=authority,
        key_bits=key_bits,
        model=_read_model(top.take_section("model")),
        codec=_read_codec(top.take_section("codec")),
        training=_read_training(top.take_section("training")),
    )


def _check_belongs(protection: Section, kind: str) -> None:
    """Raise JobError for a key that is another protection's, or for a kind that is none."""
    if kind not in PROTECTIONS:
        raise JobError(
            "protection.kind is no protection",
            expected=" or ".join(repr(known) for known in PROTECTIONS),
            got=repr(kind),
            cure="choose one of them",
        )
    for key in protection.remaining():
        owner = _KEYS_OF_PROTECTIONS.get(key, kind)
        if owner != kind:
            raise JobError(
                f"protection.{key} belongs to another protection",
                expected=f"protection.kind = {owner!r}",
                got=f"protection.kind = {kind!r}",
                cure=f"remove protection.{key}, or say kind = {owner!r}",
            )


def _read_model(section: Section) -> ModelSettings:
    default = ModelSettings()
    model = ModelSettings(
        name=section.take("name", str, default.name),
        hidden=section.take_whole_numbers("hidden"),
        l2=section.take("l2", float, default.l2),
        seed=section.take("seed", int, default.seed),
    )
    section.finish()
    return model


def _read_codec(section: Section) -> CodecSettings:
    default = CodecSettings()
    codec = CodecSettings(
        value_bits=section.take("value_bits", int, default.value_bits),
        layout=section.take("layout", str, default.layout),
        rounding=section.take("rounding", str, default.rounding),  # type: ignore[arg-type]  # checked by settings
        clipping=section.take("clipping", str, default.clipping),  # type: ignore[arg-type]  # checked by settings
        alpha=section.take_optional("alpha", float),
        target_clipped_fraction=section.take("target_clipped_fraction", float, default.target_clipped_fraction),
    )
    section.finish()
    return codec


def _read_training(section: Section) -> TrainingSettings:
    default = TrainingSettings()
    training = TrainingSettings(
        algorithm=section.take("algorithm", str, default.algorithm),  # type: ignore[arg-type]  # checked by settings
        round_count=section.take("rounds", int, default.round_count),
        local_epochs=section.take("local_epochs", int, default.local_epochs),
        batch_rows=section.take("batch_rows", int, default.batch_rows),
        learning_rate=section.take("learning_rate", float, default.learning_rate),
        optimiser=section.take("optimiser", str, default.optimiser),
        optimiser_settings=_read_numbers(section.take_section("optimiser_settings")),
        standardise=section.take("standardise", bool, default.standardise),
        patience=section.take("patience", int, default.patience),
        min_improvement=section.take("min_improvement", float, default.min_improvement),
        seed=section.take("seed", int, default.seed),
    )
    section.finish()
    return training


def _read_numbers(section: Section) -> dict[str, float]:
    return {key: section.take(key, float) for key in section.remaining()}
