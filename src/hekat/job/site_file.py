"""The site file: where this machine keeps each party's data and keys, and what it lets a job do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.errors import JobError, PolicyError
from hekat.job.data_source import DataSource, read_source
from hekat.job.job_file import Job
from hekat.job.model_source import ModelSource, read_model_sources
from hekat.job.section import Section, check_format, read_toml
from hekat.protocol.horizontal.settings import OPENINGS, PROTECTIONS
from hekat.state.file_format import FileFormat

SITE_FORMAT = FileFormat("site file", ("0.1.0",))


@dataclass(frozen=True)
class PartySite:
    """What this machine holds for one party. `paillier_key` is only ever the leader's.

    `state` is the folder of upload numbers and releases; where it is None they lie in the run's folder. `models` is the
    code of models that are not Hekat's own.
    """

    data: Mapping[str, DataSource]
    paillier_key: Path | None = None
    party_key: Path | None = None
    state: Path | None = None
    models: Mapping[str, ModelSource] = field(default_factory=dict)


@dataclass(frozen=True)
class SitePolicy:
    """What the site allows; a job that asks for more is refused before anything is read or sent.

    `openings` are the ways to open sums under `lattice`. Those with an authority or one shared key need the site's
    leave: there one role, or any party, could open single updates.
    """

    protections: tuple[str, ...] = ("lattice", "paillier")
    openings: tuple[str, ...] = ("committee",)
    min_key_bits: int = 2048
    exactness_check: bool = False


@dataclass(frozen=True)
class SiteMachine:
    """What the owner says of the machine. `single_tenant`: nobody else's code runs on it, now or later in a run."""

    single_tenant: bool = False


@dataclass(frozen=True)
class Site:
    folder: Path
    parties: Mapping[str, PartySite]
    common_data: Mapping[str, DataSource] = field(default_factory=dict)
    policy: SitePolicy = field(default_factory=SitePolicy)
    machine: SiteMachine = field(default_factory=SiteMachine)
    common_models: Mapping[str, ModelSource] = field(default_factory=dict)


def load_site(path: Path) -> Site:
    """The site file at `path`, checked."""
    top = read_toml(path, "site file")
    check_format(top, SITE_FORMAT)
    folder = path.resolve().parent
    parties = {
        name: _read_party(section, folder) for name, section in top.take_section("party").take_sections().items()
    }
    by_name = top.take_section("common_data").take_sections()
    _check_states_differ(parties)
    common = {name: read_source(section) for name, section in by_name.items()}
    common_models = read_model_sources(top.take_section("common_models"))
    policy = _read_policy(top.take_section("policy"))
    machine = _read_machine(top.take_section("machine"))
    top.finish()
    return Site(folder, parties, common, policy, machine, common_models)


def check_site_allows(site: Site, job: Job) -> None:
    """Raise PolicyError or JobError where the job asks this site for what it does not have or does not allow."""
    settings, policy = job.settings, site.policy
    wanted = {settings.protection, *(("none",) if job.compare_plain else ())}
    for protection in sorted(wanted - set(policy.protections)):
        raise PolicyError(
            f"the site does not allow protection '{protection}'",
            expected=" or ".join(policy.protections) or "no job at all: policy.protections is empty",
            got=protection,
            cure=(
                "set compare.plain = false in the job"
                if protection != settings.protection
                else f"set protection.kind = {policy.protections[0]!r} in the job"
                if policy.protections
                else "change the job"
            )
            + ", or let the site's owner add it to policy.protections",
        )
    if settings.protection == "lattice" and settings.opening not in policy.openings:
        raise PolicyError(
            f"the site does not allow opening '{settings.opening}'",
            expected=" or ".join(policy.openings) or "no opening at all: policy.openings is empty",
            got=settings.opening,
            cure=(
                f"set protection.opening = {policy.openings[0]!r} in the job" if policy.openings else "change the job"
            )
            + ", or let the site's owner add it to policy.openings",
        )
    if settings.protection == "paillier" and settings.key_bits < policy.min_key_bits:
        raise PolicyError(
            "the job's key is smaller than the site allows",
            expected=f"at least {policy.min_key_bits} bits",
            got=f"{settings.key_bits} bits",
            cure="raise protection.key_bits in the job",
        )
    if job.check_exactness and not policy.exactness_check:
        raise PolicyError(
            "the site does not allow the exactness check",
            expected="policy.exactness_check = true (all parties' updates are compared in one process)",
            got="false",
            cure="set checks.exactness = false in the job",
        )
    for party in settings.parties:
        if party not in site.parties:
            raise JobError(
                f"the site file knows no party {party!r}",
                expected=f"one of {', '.join(sorted(site.parties))}" if site.parties else "a table for each party",
                got=party,
                cure=f"add [party.{party}] to the site file, or correct the job's parties",
            )
    _check_holds_nothing(site, settings.aggregator, "aggregator")
    if settings.authority is not None:
        _check_holds_nothing(site, settings.authority, "key authority")


def _check_holds_nothing(site: Site, name: str, role: str) -> None:
    """Raise PolicyError where a role that only adds or opens has a Paillier key or rows of its own."""
    held = site.parties.get(name)
    if held is None:
        return
    if held.paillier_key is not None:
        raise PolicyError(
            f"the {role} is given a private key",
            expected="an aggregator that can add ciphertexts and open none"
            if role == "aggregator"
            else "an authority without keys: it is sent what it opens",
            got=f"paillier_key under [party.{name}]",
            cure=f"remove the key from the {role}'s site",
        )
    if held.data:
        raise PolicyError(
            f"the {role} is given data",
            expected=f"a {role} without rows of its own" if role != "aggregator" else "an aggregator without rows",
            got=f"data under [party.{name}]",
            cure="move the data to a party",
        )


def find_source(site: Site, party: str | None, name: str) -> DataSource:
    """The table a job calls `name` at `party` (None: the common ones)."""
    sources = site.common_data if party is None else site.parties[party].data
    if name not in sources:
        where = "common_data" if party is None else f"party.{party}.data"
        raise JobError(
            f"the site file has no data called {name!r} for {party or 'all parties'}",
            expected=f"one of {', '.join(sorted(sources)) or 'nothing yet'}",
            got=name,
            cure=f"add [{where}.{name}] to the site file, or correct the job's data name",
        )
    return sources[name]


def _read_party(section: Section, folder: Path) -> PartySite:
    data = {name: read_source(source) for name, source in section.take_section("data").take_sections().items()}
    paillier_key = section.take_optional("paillier_key", str)
    party_key = section.take_optional("party_key", str)
    state = section.take_optional("state", str)
    models = read_model_sources(section.take_section("model"))
    section.finish()
    return PartySite(
        data,
        folder / paillier_key if paillier_key else None,
        folder / party_key if party_key else None,
        folder / state if state else None,
        models,
    )


def _check_states_differ(parties: Mapping[str, PartySite]) -> None:
    folders: dict[Path, str] = {}
    for name, party in parties.items():
        if party.state is None:
            continue
        other = folders.setdefault(party.state.resolve(), name)
        if other != name:
            raise JobError(
                f"parties {other} and {name} keep their state in one folder",
                expected="a folder for each",
                got=str(party.state),
                cure=f"change party.{name}.state",
            )


def _read_policy(section: Section) -> SitePolicy:
    default = SitePolicy()
    policy = SitePolicy(
        protections=_read_names(section, "protections", PROTECTIONS, default.protections),
        openings=_read_names(section, "openings", OPENINGS, default.openings),
        min_key_bits=section.take("min_key_bits", int, default.min_key_bits),
        exactness_check=section.take("exactness_check", bool, default.exactness_check),
    )
    section.finish()
    return policy


def _read_names(section: Section, key: str, known: tuple[str, ...], default: tuple[str, ...]) -> tuple[str, ...]:
    names = section.take_optional_texts(key)
    for name in names or ():
        if name not in known:
            raise JobError(
                f"{section.place}.{key} names no {key.removesuffix('s')}",
                expected=" or ".join(repr(one) for one in known),
                got=repr(name),
                cure=f"correct {section.place}.{key} in the site file",
            )
    return default if names is None else names


def _read_machine(section: Section) -> SiteMachine:
    machine = SiteMachine(single_tenant=section.take("single_tenant", bool, False))
    section.finish()
    return machine
