"""The job file: what is trained together, by whom and how; the same bytes at every party."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hekat.channel import PartyPublicKey
from hekat.data import ColumnSpecs
from hekat.errors import JobError
from hekat.job.horizontal.default_algorithm import default_algorithm, default_rounds, default_value_bits
from hekat.job.horizontal.format_1 import optimiser_settings_of_format_1
from hekat.job.horizontal.model_access import refuse_model_access
from hekat.job.horizontal.precision_sweep import check_precision_sweep
from hekat.job.horizontal.privacy_section import default_algorithm_under, read_privacy
from hekat.job.horizontal.selective_section import read_selective
from hekat.job.job_head import FOUND, read_columns, read_head_of, read_numbers, read_timeout
from hekat.job.party_keys import SECTION, read_party_keys
from hekat.job.rows.protection_section import read_protection
from hekat.job.section import Section
from hekat.protocol.horizontal.privacy_settings import NOISED_BITS
from hekat.protocol.horizontal.settings import HorizontalSettings, ModelSettings, TrainingSettings
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.noise_claim import refuse_exact
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.toml_text import toml_key

PROTOCOL = "horizontal"
MOST_FOUND_COLUMNS = 100


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
    columns: ColumnSpecs = field(default_factory=ColumnSpecs)
    """What is public of columns that hold categories or have empty cells. Where parties find categories together,
    inputs that are settled list these."""
    sparse: bool = False
    """Whether rows are held sparse at every party, whatever their source is."""
    compare_bits: tuple[int, ...] = ()
    """Other bits per value that the job is trained at as well, encrypted."""
    party_keys: Mapping[str, PartyPublicKey] = field(default_factory=dict, repr=False)
    """The key that every role signs with; none where the job leaves that open."""

    @property
    def vocabulary(self) -> dict[str, tuple[str, ...]]:
        """The categories that `columns` list of the columns where they are found together; {} while they are not."""
        listed = {spec.name: spec.categories for spec in self.columns if spec.name in self.settings.found}
        return {} if self.columns.found_together else listed

    @property
    def training_count(self) -> int:
        """How often all parties train together: once, for each fold of a cross-validation, and for each comparison with
        other bits or in the clear."""
        compared = len(self.compare_bits) + (self.compare_plain and self.settings.protection != "none")
        return 1 + self.settings.validation.folds + compared


def load_job(path: Path) -> Job:
    """The job at `path`, checked whole. Raises JobError, InputError or PolicyError with the key and the cure."""
    head = read_head_of(path, PROTOCOL)
    top = head.rest
    refuse_model_access(top)
    data = top.take("data", str)
    test_data = top.take_optional("test_data", str)
    settings = _read_settings(top, head.version)
    _check_measured_once(test_data, settings)
    timeout_s = read_timeout(top, len(settings.parties))
    columns = read_columns(top.take_section("columns"))
    _check_found_by_name(columns)
    found = tuple(spec.name for spec in columns if spec.found)
    columns = replace(columns, found_together=bool(found))
    settings = replace(settings, fills=columns.joint_fills, found=found)
    sparse = top.take("sparse", bool, False)
    party_keys = read_party_keys(top.take_section(SECTION), settings.everyone)
    compare = top.take_section("compare")
    compare_alone = compare.take("alone", bool, False)
    compare_plain = compare.take("plain", bool, False)
    compare_bits = compare.take_whole_numbers("bits")
    compare.finish()
    check_precision_sweep(compare_bits, settings)
    checks = top.take_section("checks")
    check_exactness = checks.take("exactness", bool, False)
    checks.finish()
    _check_trained_once(settings, {"compare.alone": compare_alone, "compare.plain": compare_plain})
    _check_trained_once(settings, {"compare.bits": bool(compare_bits), "checks.exactness": check_exactness})
    top.finish()
    return Job(
        name=head.name,
        digest=head.digest,
        settings=settings,
        data=data,
        test_data=test_data,
        compare_alone=compare_alone,
        compare_plain=compare_plain,
        compare_bits=compare_bits,
        check_exactness=check_exactness,
        timeout_s=timeout_s,
        columns=columns,
        sparse=sparse,
        party_keys=party_keys,
    )


def _check_measured_once(test_data: str | None, settings: HorizontalSettings) -> None:
    """Raise JobError where models of folds and rows of their own are to measure the model."""
    if test_data is not None and settings.validation.folds:
        raise JobError(
            "test data and folds measure a model in two ways",
            expected="test_data or validation.folds",
            got="both",
            cure="leave one of them out: folds say how good models of such rows are, test_data how good this one is",
        )


def _check_trained_once(settings: HorizontalSettings, asked: Mapping[str, bool]) -> None:
    """Raise InputError for what trains on the rows once more, or compares updates, under differential privacy."""
    for name, is_asked in asked.items():
        if is_asked and settings.privacy is not None:
            refuse_exact(name, "nothing: it would show the rows once more, or without noise", "it")


def _check_found_by_name(columns: ColumnSpecs) -> None:
    """Raise JobError where a pattern says that categories are found: whether a column holds texts, each party knows of
    its own table alone. Raise it for more columns than one sum can carry."""
    for spec in columns:
        if spec.found and spec.is_pattern:
            raise JobError(
                f"{toml_key('columns', spec.name)}.categories refused",
                expected="the name of one column: which columns hold texts, each party knows of its own table alone",
                got=f"{FOUND!r} for the pattern {spec.name!r}",
                cure=f"say categories = {FOUND!r} under [columns.NAME] for each column of texts; hekat init --from "
                "writes these sections for a table",
            )
    count = sum(spec.found for spec in columns)
    if count > MOST_FOUND_COLUMNS:
        raise JobError(
            "the categories of too many columns are found",
            expected=f"at most {MOST_FOUND_COLUMNS} columns",
            got=str(count),
            cure="list the categories of some in the job, or ignore them",
        )


def _read_settings(top: Section, version: int) -> HorizontalSettings:
    protected = top.take_section("protection")
    selective = read_selective(protected)
    protection = read_protection(protected)
    model = _read_model(top.take_section("model"))
    training, codec = top.take_section("training"), top.take_section("codec")
    privacy = read_privacy(top.take_section("privacy"))
    default = default_algorithm(version, model, training, codec)
    algorithm = training.take("algorithm", str, default if privacy is None else default_algorithm_under(privacy))
    value_bits = default_value_bits(algorithm) if privacy is None else NOISED_BITS
    max_norm = codec.take("max_norm", float, CodecSettings().max_norm)
    return HorizontalSettings(
        parties=top.take_texts("parties"),
        aggregator=top.take("aggregator", str),
        classes=top.take_optional_texts("classes"),
        weight_max=top.take("weight_max", int),
        allow_two_parties=top.take("allow_two_parties", bool, False),
        protection=protection.kind,
        opening=protection.opening,
        authority=protection.authority,
        key_bits=protection.key_bits,
        check_sum=protection.check_sum,
        selective=selective,
        model=model,
        codec=replace(read_codec(codec, value_bits), max_norm=max_norm),
        training=_read_training(training, version, algorithm, model.name, standardise=privacy is None),
        validation=_read_validation(top.take_section("validation")),
        privacy=privacy,
    )


def _read_model(section: Section) -> ModelSettings:
    refuse_model_access(section)
    default = ModelSettings()
    model = ModelSettings(
        name=section.take("name", str, default.name),
        hidden=section.take_whole_numbers("hidden"),
        l2=section.take_optional("l2", float),
        seed=section.take("seed", int, default.seed),
        parameters=section.take_optional_texts("parameters") or (),
    )
    section.finish()
    return model


def read_codec(section: Section, value_bits: int | None = None) -> CodecSettings:
    """What the section [codec] says; its values are checked by the settings of the sums. Raises JobError.

    `value_bits` is the default of a job's algorithm, None the codec's own.
    """
    default = CodecSettings()
    codec = CodecSettings(
        value_bits=section.take("value_bits", int, default.value_bits if value_bits is None else value_bits),
        layout=section.take("layout", str, default.layout),
        rounding=section.take("rounding", str, default.rounding),  # type: ignore[arg-type]  # checked by settings
        clipping=section.take("clipping", str, default.clipping),  # type: ignore[arg-type]  # checked by settings
        alpha=section.take_optional("alpha", float),
        target_clipped_fraction=section.take("target_clipped_fraction", float, default.target_clipped_fraction),
    )
    section.finish()
    return codec


def _read_training(
    section: Section, version: int, algorithm: str, model: str, *, standardise: bool
) -> TrainingSettings:
    """`standardise` is the default."""
    refuse_model_access(section)
    default = TrainingSettings()
    if "proximal_mu" in section.remaining() and algorithm != "fedprox":
        raise JobError(
            "training.proximal_mu has no effect",
            expected="training.algorithm = 'fedprox'",
            got=repr(algorithm),
            cure="remove training.proximal_mu, or choose fedprox",
        )
    training = TrainingSettings(
        algorithm=algorithm,  # type: ignore[arg-type]  # checked by settings
        round_count=section.take("rounds", int, default_rounds(algorithm, model)),
        local_epochs=section.take("local_epochs", int, default.local_epochs),
        batch_rows=section.take("batch_rows", int, default.batch_rows),
        learning_rate=section.take("learning_rate", float, default.learning_rate),
        optimiser=section.take("optimiser", str, default.optimiser),
        optimiser_settings=read_numbers(section.take_section("optimiser_settings")),
        standardise=section.take("standardise", bool, standardise),
        patience=section.take("patience", int, default.patience),
        min_improvement=section.take("min_improvement", float, default.min_improvement),
        stop_at_loss=section.take("stop_at_loss", float, default.stop_at_loss),
        proximal_mu=section.take("proximal_mu", float, default.proximal_mu),
        error_feedback=section.take("error_feedback", bool, default.error_feedback),
        keep=section.take("keep", float, default.keep),
        keep_by=section.take("keep_by", str, default.keep_by),  # type: ignore[arg-type]  # checked by settings
        seed=section.take("seed", int, default.seed),
        participation=section.take("participation", float, default.participation),
        min_parties=section.take("min_parties", int, default.min_parties),
    )
    section.finish()
    if version == 1:
        return replace(training, optimiser_settings=optimiser_settings_of_format_1(training))
    return training


def _read_validation(section: Section) -> ValidationSettings:
    default = ValidationSettings()
    if section.remaining() and not {"hold_out", "folds"} & set(section.remaining()):
        raise JobError(
            "validation.hold_out is missing",
            expected="the fraction of every party's rows to hold out, such as 0.2, or folds, such as 5",
            got=f"validation.{section.remaining()[0]} without it",
            cure="add hold_out = 0.2 or folds = 5 to [validation], or remove the section",
        )
    validation = ValidationSettings(
        hold_out=section.take("hold_out", float, default.hold_out),
        folds=section.take("folds", int, default.folds),
        every=section.take("every", int, default.every),
        auc=section.take_optional("auc", bool),
        bins=section.take("bins", int, default.bins),
    )
    section.finish()
    return validation
