"""The site file: where this machine keeps each party's data and keys, and what it says it lets a job do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.digest_text import is_digest
from hekat.errors import JobError
from hekat.job.budget_section import read_budget
from hekat.job.data_source import DataSource, read_source
from hekat.job.model_source import ModelSource, read_model_sources
from hekat.job.policy.site_lines import SitePolicy, read_policy
from hekat.job.section import Section, check_format, read_toml
from hekat.protocol.secure_sum.masked.opening.release_record import OTHER_SUMS_ACCEPTED
from hekat.state.file_format import FileFormat
from hekat.state.privacy_budget import BudgetTerms
from hekat.toml_text import toml_key

SITE_FORMAT = FileFormat("site file", ("0.1.0",))


@dataclass(frozen=True)
class PartySite:
    """What this machine holds for one party. `paillier_key` is only for a role that makes a key for a job: the leader,
    or in a vertical job the arbiter, and without one the guest and the host.

    `privacy` is what the site grants jobs with differential privacy of this party's rows: none without it.
    `state` is the folder of upload numbers, releases and counts of predictions; where it is None they lie in the run's
    folder, if they may. `other_sums` are digests of jobs whose sums may be of other parties than earlier sums of the
    same rows. `models` is the code of models that are not Hekat's own.
    """

    data: Mapping[str, DataSource]
    paillier_key: Path | None = None
    party_key: Path | None = None
    state: Path | None = None
    models: Mapping[str, ModelSource] = field(default_factory=dict)
    other_sums: frozenset[bytes] = frozenset()
    privacy: BudgetTerms | None = None


@dataclass(frozen=True)
class SiteMachine:
    """What the owner says of the machine. `single_tenant`: nobody else's code runs on it, now or later in a run."""

    single_tenant: bool = False


@dataclass(frozen=True)
class SiteLive:
    """The page of every role that an engine has this site play: `port` at 127.0.0.1, 0 for any free one; `token` is
    the file that holds what opens it, None for a token of each run's own."""

    port: int
    token: Path | None = None


@dataclass(frozen=True)
class Site:
    folder: Path
    parties: Mapping[str, PartySite]
    common_data: Mapping[str, DataSource] = field(default_factory=dict)
    policy: SitePolicy = field(default_factory=SitePolicy)
    machine: SiteMachine = field(default_factory=SiteMachine)
    common_models: Mapping[str, ModelSource] = field(default_factory=dict)
    live: SiteLive | None = None


def load_site(path: Path) -> Site:
    """The site file at `path`, checked."""
    top = read_toml(path, "site file")
    if top.has("protocol"):
        # Before its format, which is a job's and counts otherwise.
        raise JobError(
            f"{path} is no site file, but a job file",
            expected="a site file: where this machine keeps rows and keys, and what it allows",
            got="a protocol",
            cure="name the site's own file, site.toml",
        )
    check_format(top, SITE_FORMAT)
    folder = path.resolve().parent
    parties = {
        name: _read_party(section, folder) for name, section in top.take_section("party").take_sections().items()
    }
    by_name = top.take_section("common_data").take_sections()
    _check_states_differ(parties)
    common = {name: read_source(section) for name, section in by_name.items()}
    common_models = read_model_sources(top.take_section("common_models"))
    policy = read_policy(top.take_section("policy"))
    machine = _read_machine(top.take_section("machine"))
    live = _read_live(top.take_section("live"), folder)
    top.finish()
    return Site(folder, parties, common, policy, machine, common_models, live)


def find_source(site: Site, party: str | None, name: str) -> DataSource:
    """The table a job calls `name` at `party` (None: the common ones)."""
    sources = site.common_data if party is None else site.parties[party].data
    if name not in sources:
        where = ("common_data",) if party is None else ("party", party, "data")
        raise JobError(
            f"the site file has no data called {name!r} for {party or 'all parties'}",
            expected=f"one of {', '.join(sorted(sources))}" if sources else "a table, and it names none",
            got=name,
            cure=f"add [{toml_key(*where, name)}] to the site file, or correct the job's data name",
        )
    return sources[name]


def _read_party(section: Section, folder: Path) -> PartySite:
    data = {name: read_source(source) for name, source in section.take_section("data").take_sections().items()}
    paillier_key = section.take_optional("paillier_key", str)
    party_key = section.take_optional("party_key", str)
    state = section.take_optional("state", str)
    models = read_model_sources(section.take_section("model"))
    other_sums = _read_other_sums(section.take_section("other_sums"))
    privacy = read_budget(section.take_section("privacy"))
    section.finish()
    return PartySite(
        data,
        folder / paillier_key if paillier_key else None,
        folder / party_key if party_key else None,
        folder / state if state else None,
        models,
        other_sums,
        privacy,
    )


def _read_other_sums(section: Section) -> frozenset[bytes]:
    """The operator's word, for each job by its digest."""
    found = set()
    for digest in section.remaining():
        if section.take(digest, str) != OTHER_SUMS_ACCEPTED or not is_digest(digest):
            raise JobError(
                f"{section.place} does not say what it allows",
                expected=f'a job\'s digest and the sentence: "9f2c..." = "{OTHER_SUMS_ACCEPTED}"',
                got="another sentence" if is_digest(digest) else "a key that is no job's digest",
                cure="copy the line from the error that asked for it, or remove this one",
            )
        found.add(bytes.fromhex(digest))
    return frozenset(found)


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
                cure=f"change {toml_key('party', name, 'state')}",
            )


def _read_live(section: Section, folder: Path) -> SiteLive | None:
    port, token = section.take_optional("port", int), section.take_optional("token", str)
    section.finish()
    if port is None and token is None:
        return None
    if port is None or not 0 <= port < 1 << 16:
        raise JobError(
            "the site file does not say where the live page is served",
            expected=f"{toml_key(section.place, 'port')}: 1 to 65535, or 0 for any free one",
            got="none" if port is None else str(port),
            cure="add it, or leave [live] out",
        )
    return SiteLive(port, folder / token if token else None)


def _read_machine(section: Section) -> SiteMachine:
    machine = SiteMachine(single_tenant=section.take("single_tenant", bool, False))
    section.finish()
    return machine
