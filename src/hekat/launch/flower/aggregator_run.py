"""The aggregator's run within a Flower strategy: the role, its ledger, and its outcome, at the server's own site."""

from __future__ import annotations

from hekat.channel.mailbox import MailboxChannel
from hekat.launch.averaging_state import plan_of
from hekat.launch.flower.carried_role import CarriedRole
from hekat.launch.flower.loop_site import LoopSite
from hekat.launch.flower.opened_run import opened_run
from hekat.launch.one_role import roles_that_may_be_lost
from hekat.own_loop.loop_roles import LoopRoles
from hekat.own_loop.turns import Turns
from hekat.state.run_directory import new_run_id


class AggregatorRun(CarriedRole):
    """The role that adds what it cannot open; `run_id` is the run's name at every site."""

    def __init__(self, loop: LoopSite) -> None:
        settings = loop.job.settings
        self.run_id = new_run_id()
        self._loop = loop
        lost = roles_that_may_be_lost(loop.job)
        super().__init__(settings.aggregator, settings.everyone, self.run_id, lost, self._play_aggregator)

    def lose(self, party: str) -> None:
        """The engine reaches `party` no more."""
        self.channel.note_out_of_reach(party)

    def awaited(self) -> str:
        """The role whose message this one waits for; "" for none."""
        return self.channel.awaited

    def _play_aggregator(self, channel: MailboxChannel) -> None:
        loop, job = self._loop, self._loop.job
        with opened_run(loop, channel, self.run_id) as (folder, _):
            roles = LoopRoles(
                job.settings, {loop.role: folder.session}, Turns(()), plan=plan_of(job), names_are_keys=True
            )
            roles.play_server(channel)
            folder.events.write("finished", rounds=job.round_count)
