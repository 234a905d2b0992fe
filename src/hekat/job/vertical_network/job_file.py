"""The job file of a split network: who holds what, how rows are matched, what is trained, and who may learn what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hekat.errors import JobError
from hekat.job.job_head import read_columns, read_fields, read_head_of, read_timeout
from hekat.job.party_keys import SECTION, read_party_keys
from hekat.job.section import Section
from hekat.job.trees.sections import task_of
from hekat.job.vertical.columns_job import (
    ColumnsJob,
    check_measured,
    read_flag,
    read_hold_out,
    read_intersection,
)
from hekat.protocol.role_names import check_role_name
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.prediction.settings import NetworkPredictionSettings
from hekat.protocol.vertical_network.sealed.settings_rules import UNUSED, check_unused
from hekat.protocol.vertical_network.settings import (
    SEALED,
    VerticalNetworkSettings,
    usual_host_bottom,
    usual_training,
)

PROTOCOL: Final = "vertical_network"
MODEL: Final = "network"
"""What `policy.models` of a site calls a split network of Hekat's own layers."""
OWN_BOTTOMS: Final = ("random_features", "principal_components")
"""The fixed maps of Hekat's own that a job may name for a host; unless it names one, the first."""


@dataclass(frozen=True, kw_only=True)
class NetworkJob(ColumnsJob):
    """A checked job of a split network. `bottoms` names by party the model of its site that maps its columns, or one of
    OWN_BOTTOMS; parties that are not in it have Hekat's own. `top` names the model of the guest's site behind the
    interactive layer; without it Hekat's own is."""

    settings: VerticalNetworkSettings
    prediction: NetworkPredictionSettings
    bottoms: Mapping[str, str] = field(default_factory=dict)
    top: str | None = None


def load_network_job(path: Path) -> NetworkJob:
    """The job at `path`, checked whole. Raises JobError or InputError with the key and the cure."""
    head = read_head_of(path, PROTOCOL)
    top = head.rest
    if "checks" in top.remaining():
        raise JobError(
            "[checks] has no use for a split network",
            expected=f"a job of protocol {PROTOCOL!r} without [checks]",
            got="[checks]",
            cure="say centralised = true under [compare] instead: the same network on the joined rows, in floats",
        )
    data = top.take("data", str)
    test_data = top.take_optional("test_data", str)
    network = top.take_section("network")
    own_bottoms = network.take_section("bottoms")
    settings = _read_settings(top, network)
    own_top = network.take_optional("top", str)
    network.finish()
    bottoms = _read_names(own_bottoms)
    for name in settings.everyone:
        check_role_name(name)
    _check_bottoms(bottoms, settings)
    _check_top(own_top, settings)
    job = NetworkJob(
        name=head.name,
        digest=head.digest,
        settings=settings,
        intersection=read_intersection(top.take_section("intersection"), settings.guest, settings.hosts),
        prediction=_read_prediction(top.take_section("prediction"), settings),
        bottoms=bottoms,
        top=own_top,
        data=data,
        test_data=test_data,
        timeout_s=read_timeout(top, len(settings.everyone)),
        compare_centralised=read_flag(top.take_section("compare"), "centralised"),
        columns=read_columns(top.take_section("columns")),
        hold_out=read_hold_out(top.take_section("validation")),
        party_keys=read_party_keys(top.take_section(SECTION), settings.everyone),
    )
    _refuse_sparse(top)
    top.finish()
    check_measured(job, settings.guest, job.prediction.receivers)
    _check_comparable(job)
    return job


def _read_settings(top: Section, network: Section) -> VerticalNetworkSettings:
    classes = top.take_optional_texts("classes")
    model = top.take_section("model")
    task = model.take("task", str, task_of(classes))
    model.finish()
    training, protection = top.take_section("training"), top.take_section("protection")
    label_privacy = top.take_section("label_privacy")
    column_leak, label_leak, slope_leak = map(top.take_section, ("column_leak", "label_leak", "slope_leak"))
    default = VerticalNetworkSettings
    form = protection.take("form", str, default.form)
    if form == SEALED:
        said = {f"network.{key}" for key in network.remaining()} | {f"training.{key}" for key in training.remaining()}
        check_unused([name for name in UNUSED if name in said])
    settings = VerticalNetworkSettings(
        guest=top.take("guest", str),
        hosts=top.take_texts("hosts"),
        task=task,  # type: ignore[arg-type]  # checked by VerticalNetworkSettings
        classes=classes,
        form=form,
        protection=protection.take("kind", str, default.protection),  # type: ignore[arg-type]  # checked as well
        host_bottom=protection.take("host_bottom", str, str(usual_host_bottom(form))),  # type: ignore[arg-type]  # checked too
        network=_read_shape(network),
        training=NetworkTraining(**read_fields(training, usual_training(form))),
        label_privacy=label_privacy.take_optional("epsilon", float),
        rotation_accepted=column_leak.take_optional("accepted", str),
        labels_accepted=label_leak.take_optional("accepted", str),
        slopes_accepted=slope_leak.take_optional("accepted", str),
    )
    for section in (protection, label_privacy, column_leak, label_leak, slope_leak):
        section.finish()
    return settings


def _read_shape(section: Section) -> NetworkShape:
    default = NetworkShape()
    widths = section.take_section("host_widths")
    return NetworkShape(
        units=section.take("units", int, default.units),
        guest_width=section.take("guest_width", int, default.guest_width),
        host_width=section.take("host_width", int, default.host_width),
        host_widths={name: widths.take(name, int) for name in widths.remaining()},
        bottom_hidden=section.take_whole_numbers("bottom_hidden"),
        top_hidden=section.take_whole_numbers("top_hidden"),
        activation=section.take("activation", str, str(default.activation)),  # type: ignore[arg-type]  # checked there
    )


def _read_names(section: Section) -> dict[str, str]:
    return {party: section.take(party, str) for party in section.remaining()}


def _check_bottoms(bottoms: Mapping[str, str], settings: VerticalNetworkSettings) -> None:
    """Raise JobError for a bottom of nobody, or of a host that has none."""
    for party, model in bottoms.items():
        _check_named(f"network.bottoms.{party}", model)
    strangers = [name for name in bottoms if name not in settings.parties]
    if strangers:
        raise JobError(
            "network.bottoms names no party",
            expected=f"names among {', '.join(settings.parties)}",
            got=strangers[0],
            cure="correct network.bottoms in the job",
        )
    if bottoms and settings.form == SEALED:
        raise JobError(
            "network.bottoms has no use for a sealed network",
            expected="no such section with protection.form = 'sealed': squares are of the columns themselves",
            got=f"a bottom of {', '.join(bottoms)}",
            cure="leave it out, or set protection.form = 'shared', which opens more",
        )
    maps = [party for party, name in bottoms.items() if name in OWN_BOTTOMS]
    if maps and (settings.host_bottom != "frozen" or settings.guest in maps):
        raise JobError(
            f"network.bottoms gives {maps[0]} a fixed map",
            expected="fixed maps at hosts alone, with protection.host_bottom = 'frozen'",
            got=f"{bottoms[maps[0]]!r}",
            cure=f"remove {maps[0]} from network.bottoms",
        )
    hosts = [name for name in bottoms if name in settings.hosts]
    if hosts and settings.host_bottom == "source":
        raise JobError(
            f"network.bottoms gives {hosts[0]} a bottom that it has no use for",
            expected="protection.host_bottom = 'frozen' or 'trained'",
            got="'source': the columns themselves",
            cure=f"remove {hosts[0]} from network.bottoms, or choose another protection.host_bottom",
        )


def _check_named(key: str, model: str) -> None:
    """Raise JobError for a model of a site without a name."""
    if not model.strip():
        raise JobError(
            f"{key} names nothing",
            expected="the name of a model of the site",
            got=repr(model),
            cure="name one, or leave the line out for Hekat's own",
        )


def _check_top(top: str | None, settings: VerticalNetworkSettings) -> None:
    """Raise JobError for a top of the guest's own that nothing would go through, or with layers of another."""
    if top is not None:
        _check_named("network.top", top)
    if top is not None and settings.form == SEALED:
        raise JobError(
            "network.top has no use for a sealed network",
            expected="no such line with protection.form = 'sealed': all of such a network lies in shares",
            got=repr(top),
            cure="leave it out, or set protection.form = 'shared', which opens more",
        )
    if top is not None and settings.network.top_hidden:
        raise JobError(
            "network.top_hidden has no use beside network.top",
            expected="one of them: the model of the guest's site has layers of its own",
            got=f"both, network.top = {top!r}",
            cure="leave out one of them",
        )


def _check_comparable(job: NetworkJob) -> None:
    """Raise JobError where a comparison would need the models of sites in one network."""
    if job.compare_centralised and (job.bottoms or job.top is not None):
        raise JobError(
            "a comparison with centralised training knows Hekat's own bottoms and top alone",
            expected="compare.centralised = false, or no network.bottoms and no network.top",
            got=f"a bottom of {', '.join(job.bottoms)}" if job.bottoms else f"network.top = {job.top!r}",
            cure="leave out one of them",
        )


def _read_prediction(section: Section, settings: VerticalNetworkSettings) -> NetworkPredictionSettings:
    receivers = section.take_optional_texts("receivers")
    section.finish()
    named = (settings.guest,) if receivers is None else receivers
    checked = NetworkPredictionSettings(settings.guest, settings.hosts, named, settings.form)
    checked.check_told_hosts(settings.label_privacy, labels_accepted=settings.labels_accepted is not None)
    return checked


def _refuse_sparse(top: Section) -> None:
    """Raise JobError where rows are to be held sparse."""
    if top.take("sparse", bool, False):
        raise JobError(
            "a split network is trained on dense rows",
            expected="sparse = false, or no such line",
            got="sparse = true",
            cure="leave it out; what a bottom gives is dense anyway",
        )
