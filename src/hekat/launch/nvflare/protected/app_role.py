"""A site's role in a protected app: its own files and leave first, then sums over the engine's messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass

from hekat.channel.mailbox import MailboxChannel
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import HekatError, JobError
from hekat.job.averaging.job_file import PROTOCOL, AveragingJob, load_averaging_job
from hekat.job.horizontal.drawn_members import check_members_of
from hekat.job.policy.checks_of_job import enforce_policy
from hekat.job.policy.exact_sums import record_waiver_at
from hekat.job.site_file import Site, load_site
from hekat.launch.averaging_state import check_state, opened_state, plan_of
from hekat.launch.loop_rounds import tell_rounds
from hekat.launch.nvflare.door import Ask, Door
from hekat.launch.nvflare.meeting import Meeting
from hekat.launch.nvflare.order import RunOrder
from hekat.launch.nvflare.protected.app_party import AppParty
from hekat.launch.nvflare.protected.final_model import save_averaged_model
from hekat.launch.nvflare.protected.handover import Handover
from hekat.launch.nvflare.site_link import SiteLink
from hekat.launch.outcome import NotedEnd, noted_outcome
from hekat.launch.role_display import ShownRole, displayed
from hekat.own_loop.costs import cost_rounds
from hekat.own_loop.loop_roles import LoopRoles
from hekat.own_loop.party import Party
from hekat.own_loop.turns import Turns
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.timeouts import aggregator_timeout_of
from hekat.run.load_keys import load_party_keys
from hekat.run.own_keys import OwnKeys, find_own_keys
from hekat.run.role_folder import Place, RoleFolder, open_role_folder
from hekat.state import replace_file
from hekat.wire import Disclosure

COSTS_FILE = "costs.json"
SERVER_LEARNS = "the engine's server is given the mean of every round, and of every metric: the site allows it"
SERVER_LEARNS_NOT = "the engine's server is given a zero for each tensor, and no metric"


@dataclass(frozen=True)
class AppRole:
    """What one site needs: the order, its own name at the engine, its link, and the way to other sites."""

    order: RunOrder
    site: str
    link: SiteLink
    door: Door
    ask: Ask

    def job(self) -> AveragingJob:
        """The job that the order carries, before the role plays. Raises JobError where it is none of a protected app,
        or has other sites or none for this one; then the run has an outcome."""
        try:
            self._role()
            return self._checked_job()
        except HekatError:
            with self._noted():
                raise

    def play(
        self,
        app: AppParty | None,
        handover: Handover,
        on_channel: Callable[[MailboxChannel], None] = lambda channel: None,
        on_joined: Callable[[], None] = lambda: None,
    ) -> None:
        """Play the site's role to its end: a party's, with `app` and its `handover`, or the aggregator's.

        Afterwards the run's folder holds a party's model. `on_channel` and `on_joined` are as in `SiteRole.play`.
        Raises what loading, checking and playing raise; nothing is sent before every check of this site's.
        """
        with self._noted() as end:
            role, job, site = self._role(), self._checked_job(), load_site(self.link.site)
            enforce_policy(site, job, (role,))
            keys = self._keys(job, site, role)
            if app is not None:
                together = self.link.keys is not None and set(job.settings.parties) <= site.parties.keys()
                check_state(site, job, role, self.link.runs, is_together=together)
            meeting = Meeting(self.order, self.link, self.door, self.ask, role, job, site, keys.public)
            shown = ShownRole(job, site, role, self.order.run_id, self.link.runs)
            tenancy = declare_tenancy(site.machine.single_tenant)
            with tenancy, displayed(shown) as progress, meeting.joined(on_channel) as channel:
                on_joined()
                place = Place(role, channel, self.order.run_id, self.link.runs, keys, progress)
                with open_role_folder(place, job.name, job.digest, PROTOCOL, job.settings.parties) as folder:
                    _Run(job, site, place, folder).play(app, handover)
            if app is not None and app.rounds_done < job.round_count:
                # Whoever runs the engine's server may stop an app between two rounds: no error tells of it.
                end.rounds = f"{app.rounds_done} of {job.round_count}"

    def _noted(self) -> AbstractContextManager[NotedEnd]:
        order = self.order
        return noted_outcome(self.link.runs, order.run_id, order.role_at(self.site) or "", order.digest.hex())

    def _role(self) -> str:
        role = self.order.role_at(self.site)
        if role is None:
            raise JobError(
                "the engine's job gives this site no role",
                expected="a site that the job names",
                got="another one",
                cure="name this site among the parties of protect(...)",
            )
        return role

    def _checked_job(self) -> AveragingJob:
        with self.order.as_file() as path:
            job = load_averaging_job(path)
        self.order.check_roles(job)
        return job

    def _keys(self, job: AveragingJob, site: Site, role: str) -> OwnKeys:
        stated = {role: job.party_keys[role]} if job.party_keys else {}
        return find_own_keys(job, role, load_party_keys(site, (role,), stated), self.link.keys)


@dataclass(frozen=True)
class _Run:
    job: AveragingJob
    site: Site
    place: Place
    folder: RoleFolder

    def play(self, app: AppParty | None, handover: Handover) -> None:
        role = self.place.role
        with self._states(is_party=app is not None) as states:
            roles = self._roles(states)
            if app is None:
                roles.play_server(self.place.channel)
            else:
                self._play_party(roles, app, handover)
        self.folder.events.write("finished", rounds=0 if app is None else app.rounds_done)
        rounds = cost_rounds(list(roles.records.values()), {role: self.folder.session}, self.job.settings.aggregator)
        content = {"rounds": [asdict(one) for one in rounds], "seconds": dict(self.folder.session.stopwatch.seconds)}
        replace_file(self.folder.path / COSTS_FILE, json.dumps(content, indent=1).encode(), mode=0o600)

    def _play_party(self, roles: LoopRoles, app: AppParty, handover: Handover) -> None:
        learns = self.job.server_learns_model
        noted = (SERVER_LEARNS, Disclosure("disclosed", "the mean model")) if learns else (SERVER_LEARNS_NOT, "public")

        def serve(party: Party) -> None:
            assert self.folder.session.ledger is not None  # its session is open
            self.folder.session.ledger.note("setup", *noted)
            record_waiver_at(self.folder.session.ledger, self.site, self.place.role)
            handover.serve(party)

        roles.play_party(self.place.channel, serve)
        if app.model is not None:
            save_averaged_model(self.folder.path, self.job, app.model, app.rounds_done)

    @contextmanager
    def _states(self, *, is_party: bool) -> Iterator[dict[str, UploadState]]:
        role = self.place.role
        with ExitStack() as stack:
            opened = opened_state(self.site, self.job, role, self.folder.path)
            yield {role: stack.enter_context(opened)} if is_party else {}

    def _roles(self, states: dict[str, UploadState]) -> LoopRoles:
        job, role = self.job, self.place.role
        is_aggregator = role == job.settings.aggregator
        return LoopRoles(
            job.settings,
            {role: self.folder.session},
            Turns((role,)),
            states,
            plan=plan_of(job),
            wait_s=job.timeout_s if is_aggregator else aggregator_timeout_of(job.timeout_s, len(job.settings.parties)),
            accept_members=lambda members: check_members_of(self.site, job, role, members),
            names_are_keys=bool(job.party_keys),
            on_round=(lambda record: None)
            if is_aggregator
            else tell_rounds(self.folder.events, self.place.progress, job.round_count),
        )
