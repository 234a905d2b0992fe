"""Plays a job's roles in processes over a relay of parcels, and tells how each ended and what it holds."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from tests.faults.parcel_post import RUN_ID
from tests.faults.parcel_relay import ParcelRelay
from tests.launch.forked_roles import Fork, RoleProcesses
from tests.launch.jobs_apart import clinics
from tests.launch.roles_apart import Ended, RolesApart

from hekat.run.horizontal.trained_model import MODEL_FILE

LOST_AFTER_S = 5.0
# The first message of such a step ends the process, by `signal`.
AT_STEP = """
import os, re, signal
from hekat.channel.mailbox import MailboxChannel
send = MailboxChannel.send
def send_or_end(self, to, step, payload):
    if re.fullmatch({step!r}, step):
        MailboxChannel.send = send
        os.kill(os.getpid(), signal.{signal})
    return send(self, to, step, payload)
MailboxChannel.send = send_or_end
"""
# From its first message of such a step on, no file of the process grows beyond 1024 bytes.
FULL_DISK_AT_STEP = """
import re, resource, signal
from hekat.channel.mailbox import MailboxChannel
send = MailboxChannel.send
def send_and_fill(self, to, step, payload):
    if re.fullmatch({step!r}, step):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    return send(self, to, step, payload)
MailboxChannel.send = send_and_fill
"""
CLOCK_OFF = """
import time
now = time.time
time.time = lambda: now() + {seconds}
"""


@dataclass
class FaultyRun:
    """One job in its processes. `relay` carries their parcels, and does to them what the test says."""

    apart: RolesApart
    relay: ParcelRelay
    lost_after_s: float = LOST_AFTER_S
    first_contact_s: float = 60.0

    def play(
        self,
        fork: Fork,
        *,
        may_be_lost: Collection[str] = (),
        meanwhile: Callable[[RoleProcesses], None] = lambda processes: None,
    ) -> dict[str, Ended]:
        """How each role ended; `meanwhile` is called once all have been started."""
        with self.relay, RoleProcesses(fork) as processes:
            for role in self.apart.roles:
                install = f"from tests.faults.parcel_post import install\ninstall({self.apart.roles!r}, "
                install += f"{tuple(may_be_lost)!r}, {self.lost_after_s}, {self.first_contact_s})\n"
                prelude = install + self.apart.preludes.get(role, "")
                words = self.apart._command(role, self.relay.path)
                processes.start(role, self.apart.folder_of(role), words, prelude)
            meanwhile(processes)
            codes = processes.wait()
        return {role: self.apart._read_answer(role, code) for role, code in codes.items()}

    def model_of(self, party: str) -> bytes:
        """The model file that the party's run left."""
        return (self.apart.folder_of(party) / "runs" / RUN_ID / MODEL_FILE).read_bytes()


def hospitals(place: Path, count: int = 5, *, rounds: int = 2, **relay) -> FaultyRun:
    """A horizontal job under the committee, of as many parties."""
    apart = clinics(place, count, 'kind = "lattice"\nopening = "committee"', rounds=rounds)
    return FaultyRun(apart, ParcelRelay(place / "relay", **relay))
