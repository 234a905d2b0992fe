"""Plays a job's roles in processes over a relay of parcels, and tells how each ended and what it holds."""

from __future__ import annotations

import struct
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
def send_or_end(self, to, step, payload, **named):
    if re.fullmatch({step!r}, step):
        MailboxChannel.send = send
        os.kill(os.getpid(), signal.{signal})
    return send(self, to, step, payload, **named)
MailboxChannel.send = send_or_end
"""
# From its first message of such a step on, no file of the process grows beyond 1024 bytes.
FULL_DISK_AT_STEP = """
import re, resource, signal, sys
sys.dont_write_bytecode = True  # it would be kept cut off
from hekat.channel.mailbox import MailboxChannel
send = MailboxChannel.send
def send_and_fill(self, to, step, payload, **named):
    if re.fullmatch({step!r}, step):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    return send(self, to, step, payload, **named)
MailboxChannel.send = send_and_fill
"""
# Its parcels are as another release would write them.
OTHER_RELEASE = """
import hekat.channel.mailbox.parcel as parcel
parcel.FORMAT = 0
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
        self.check_nothing_leaked()
        return {role: self.apart._read_answer(role, code) for role, code in codes.items()}

    def check_nothing_leaked(self) -> None:
        """No row of a party, as text or numbers, passed the relay or is in a file or log of any role."""
        traffic = b"".join(data for _, _, data in self.relay.seen)
        files = [path for role in self.apart.roles for path in self.apart.folder_of(role).rglob("*") if path.is_file()]
        contents = [path.read_bytes() for path in files]
        assert traffic
        assert contents
        for secret in self.planted():
            assert secret not in traffic
            assert not any(secret in content for content in contents)

    def planted(self) -> list[bytes]:
        """The beginning of a row of each party: as its table has it, and its numbers as float64 and float32."""
        found = []
        for table in sorted(self.apart.place.glob("*.csv")):
            row = table.read_text().splitlines()[1].split(",")[:3]
            numbers = [float(value) for value in row]
            found += [",".join(row).encode(), *(struct.pack("<d", one) for one in numbers)]
            found.append(struct.pack("<3f", *numbers))
        return found

    def model_of(self, party: str) -> bytes:
        """The model file that the party's run left."""
        return (self.apart.folder_of(party) / "runs" / RUN_ID / MODEL_FILE).read_bytes()


def hospitals(place: Path, count: int = 5, *, rounds: int = 2, **relay) -> FaultyRun:
    """A horizontal job under the committee, of as many parties."""
    apart = clinics(place, count, 'kind = "lattice"\nopening = "committee"', rounds=rounds)
    return FaultyRun(apart, ParcelRelay(place / "relay", **relay))
