"""A party's whole run beside Flower: its loop, its folder of the run, and what couriers hand in and take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hekat.channel.mailbox import MailboxChannel
from hekat.job.policy.exact_sums import record_waiver_at
from hekat.launch.averaging_state import opened_state, plan_of
from hekat.launch.flower.carried_role import CarriedRole
from hekat.launch.flower.desk import Desk
from hekat.launch.flower.loop_site import LoopSite
from hekat.launch.flower.metrics_file import MetricsFile
from hekat.launch.flower.opened_run import opened_run
from hekat.launch.flower.shelf import Addressed
from hekat.launch.loop_rounds import SERVER_SAID, tell_rounds
from hekat.launch.one_role import roles_that_may_be_lost
from hekat.own_loop import Party
from hekat.own_loop.loop_roles import LoopRoles
from hekat.own_loop.turns import Turns
from hekat.protocol.role_session import RoleSession
from hekat.run.role_folder import RoleFolder
from hekat.state.model_file import save_model
from hekat.wire import Disclosure

MODEL_FILE = "model.npz"
_STEP_OF_SERVER = "server"


class PartyRun:
    """One run of the party's role, from the first courier on."""

    def __init__(self, loop: LoopSite, run_id: str) -> None:
        settings = loop.job.settings
        self.run_id = run_id
        self._loop = loop
        self._role = CarriedRole(
            loop.role,
            settings.everyone,
            run_id,
            roles_that_may_be_lost(loop.job),
            self._play,
            is_paused=lambda: self.desk.is_paused,
        )
        self.desk = Desk(loop.job.round_count, self._role.channel.nudge)
        # The last mean is evaluated once the role is over.
        self._metrics = MetricsFile(loop.job.round_count)

    @property
    def is_over(self) -> bool:
        return self._role.is_over

    @property
    def kind(self) -> str:
        """The kind of the error that the role ended by; "" for none."""
        return "" if self._role.error is None else type(self._role.error).__name__

    @property
    def error(self) -> BaseException | None:
        return self._role.error

    def start(self) -> None:
        """Begin to play."""
        self._role.start()

    def exchange(self, parcels: Iterable[bytes], within_s: float, lost: Iterable[str] = ()) -> list[Addressed]:
        """Bring what others sent; what the role sent once it waits for more. Shorter waits than it takes lose nothing:
        the next courier takes what is left. `lost` are parties that the engine's server reaches no more."""
        self._role.bring(parcels)
        # Only now: what a lost party sent before still counts.
        self._lose(lost)
        self._role.settle(within_s)
        return self._role.take()

    def note_metrics(self, kind: str, round_number: int, metrics: Mapping[str, float]) -> None:
        """Write what the engine's code measured here; it stays here. Raises StateError."""
        self._metrics.note(kind, round_number, metrics)

    def end(self, within_s: float) -> None:
        """Give the run up, where it is not over."""
        if not self.is_over:
            self.desk.fail("the party's process was ended")
        self._role.abandon(within_s)
        self._metrics.close()

    def _lose(self, roles: Iterable[str]) -> None:
        """This party waits for these no longer."""
        for role in set(roles) & set(self._loop.job.settings.parties) - {self._loop.role}:
            self._role.channel.note_out_of_reach(role)

    def _play(self, channel: MailboxChannel) -> None:
        loop, job = self._loop, self._loop.job
        with (
            opened_run(loop, channel, self.run_id) as (folder, progress),
            opened_state(loop.site, job, loop.role, folder.path) as state,
        ):
            self._metrics.open(folder.path)
            roles = LoopRoles(
                job.settings,
                {loop.role: folder.session},
                Turns((loop.role,)),
                {loop.role: state},
                plan=plan_of(job),
                accept_members=loop.accept_members,
                names_are_keys=True,
                on_round=tell_rounds(folder.events, progress, job.round_count),
            )
            try:
                roles.play_party(channel, lambda party: self._train(party, folder.session))
            except BaseException:
                self._save(folder, f"mean-of-round-{self.desk.opened}.npz")
                raise
            self._save(folder, MODEL_FILE)
            folder.events.write("finished", rounds=self.desk.opened)

    def _train(self, party: Party, session: RoleSession) -> None:
        desk = self.desk
        if session.ledger is not None:
            record_waiver_at(session.ledger, self._loop.site, self._loop.role)
        party.start_from(desk.wait_for_start())
        for round_number in range(1, desk.rounds + 1):
            update, weight, terms = desk.wait_for_update(round_number)
            desk.open(round_number, party.aggregate(update, weight=weight, same=(SERVER_SAID, terms)))
            if self._loop.job.server_learns_model and session.ledger is not None:
                told = Disclosure("disclosed", "the mean of the round, to the engine's server, as the job says")
                session.ledger.note(f"round-{round_number}/{_STEP_OF_SERVER}", "the opened mean", told)

    def _save(self, folder: RoleFolder, name: str) -> None:
        """The last mean that was opened, if any: as the model only once the parties have compared it."""
        desk = self.desk
        if desk.opened and desk.model is not None:
            save_model(folder.path / name, desk.model, {"job": self._loop.job.name, "rounds": desk.opened})
