"""Roles of a job in processes of their own, each with its own site file, key, state and folder, over a relay here."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.launch.forked_roles import OUTPUT, Fork, RoleProcesses

from hekat.channel import PartyKey
from hekat.errors import HekatError
from hekat.job.approvals import approve
from hekat.job.load_any_job import AnyJob, approvers_of, load_any_job, roles_of
from hekat.job.site_file import load_site
from hekat.launch.local import LocalRelay, RunTerms, relay

RUN_ID = "20260101T000000Z-0123ab"
LONG_S = 1e6


@dataclass
class Ended:
    """How one role's process ended."""

    code: int
    told: dict[str, Any]


@dataclass
class RolesApart:
    """One folder for each role, and one for all roles together; `sites` are lines of each role's site file.

    The job names every role's public key, so nothing but the job file and these keys is shared.
    """

    place: Path
    job_text: str
    roles: tuple[str, ...]
    sites: Mapping[str, str]
    policy: str = ""
    more_sites: str = ""
    """Lines of every site file."""
    keys: dict[str, PartyKey] = field(default_factory=dict)
    preludes: dict[str, str] = field(default_factory=dict)
    """Python that runs before a role's command, by role."""
    options: dict[str, list[str]] = field(default_factory=dict)

    prediction_count: int = 0

    def __post_init__(self) -> None:
        pins = []
        for role in self.roles:
            self.keys[role] = PartyKey.generate()
            pins.append(f'{role} = "{self.keys[role].pin}"')
        text = f"{self.job_text}\n[party_keys]\n" + "\n".join(pins) + "\n"
        for role in self.roles:
            self._write(self.folder_of(role), text, [role])
        self._write(self.together, text, list(self.roles))

    @property
    def together(self) -> Path:
        """The folder of one machine that plays all roles."""
        return self.place / "together"

    def folder_of(self, role: str) -> Path:
        return self.place / role

    def run_of(self, role: str) -> Path:
        """The folder of the role's own run."""
        return self.folder_of(role) / "runs" / RUN_ID

    @property
    def job(self) -> AnyJob:
        return load_any_job(self.together / "job.toml")

    def play(self, fork: Fork, *, may_drop_out: tuple[str, ...] = (), timeout_s: float = 60.0) -> dict[str, Ended]:
        """Start a process for each role, carry their messages until all have ended, and say how each ended."""
        words = {role: self._command(role, self.socket) for role in self.roles}
        return self._carry(fork, RUN_ID, words, may_drop_out, timeout_s)

    def predict(
        self, fork: Fork, roles: Sequence[str], *options: str, by_role: Mapping[str, list[str]] | None = None
    ) -> dict[str, Ended]:
        """As `play`, of a joint prediction by these roles' parts of the model that they trained."""
        self.prediction_count += 1
        words = {role: [*self.prediction(role), *options, *(by_role or {}).get(role, ())] for role in roles}
        return self._carry(fork, self.prediction_id, words, (), 60.0)

    def prediction(self, role: str) -> list[str]:
        """The words of one role's command for a prediction, but for what is predicted."""
        folder = self.folder_of(role)
        words = ["predict", str(self.run_of(role)), f"--role={role}", "--job", str(folder / "job.toml"), "--json"]
        return [*words, "--relay", str(self.socket), "--site", str(folder / "site.toml")]

    @property
    def prediction_id(self) -> str:
        """The run id of the last prediction."""
        return f"{RUN_ID[:-2]}{self.prediction_count:02d}"

    @property
    def socket(self) -> Path:
        return self.place / "relay"

    def _carry(
        self, fork: Fork, run_id: str, words: Mapping[str, list[str]], may_drop_out: tuple[str, ...], timeout_s: float
    ) -> dict[str, Ended]:
        terms = RunTerms(run_id, tuple(words) if run_id != RUN_ID else roles_of(self.job))
        digest = self.job.digest
        with (
            LocalRelay(self.socket, terms, digest, timeout_s=timeout_s, may_drop_out=may_drop_out) as local_relay,
            RoleProcesses(fork) as processes,
            pytest.MonkeyPatch.context() as patch,
        ):
            for role, command in words.items():
                processes.start(role, self.folder_of(role), command, self.preludes.get(role, ""))
            clock = _Clock(local_relay, processes)
            patch.setattr(relay, "time", SimpleNamespace(monotonic=clock.monotonic))
            with suppress(HekatError):  # what ended the run is told by the processes
                local_relay.serve()
            codes = processes.wait()
        return {role: self._read_answer(role, code) for role, code in codes.items()}

    def _read_answer(self, role: str, code: int) -> Ended:
        out = (self.folder_of(role) / OUTPUT).read_text()
        return Ended(code, json.loads(out) if out.strip() else {})

    def start(self, role: str, socket: Path) -> subprocess.Popen[str]:
        """One role's process by its command alone; its answer is JSON."""
        program = f"{self.preludes.get(role, '')}\nimport sys\nfrom hekat.cli.main import main\nsys.exit(main())"
        return subprocess.Popen(
            [sys.executable, "-c", program, *self._command(role, socket)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self.folder_of(role),
        )

    def _command(self, role: str, socket: Path) -> list[str]:
        """The words of one role's command; its answer is JSON."""
        folder = self.folder_of(role)
        words = ["run", str(folder / "job.toml"), f"--role={role}", "--relay", str(socket), "--json"]
        return [*words, "--runs", str(folder / "runs"), *self.options.get(role, ())]

    def _write(self, folder: Path, job_text: str, roles: list[str]) -> None:
        """Job, site file, keys and approvals of these roles; `@` in a site's lines is the folder with the data."""
        folder.mkdir()
        (folder / "job.toml").write_text(job_text)
        lines = ["format = 1", f"[policy]\n{self.policy}", self.more_sites]
        for role in roles:
            self.keys[role].save(folder / f"{role}.party")
            own = f'[party.{role}]\nparty_key = "{role}.party"\nstate = "state/{role}"\n'
            lines.append(own + self.sites.get(role, ""))
        (folder / "site.toml").write_text("\n".join(lines) + "\n")
        job, site = load_any_job(folder / "job.toml"), load_site(folder / "site.toml")
        for role in roles:
            if role in approvers_of(job):
                approve(site, role, job.digest, job.name)


@dataclass
class _Clock:
    """Time that is over for all who have not joined, once every other process has joined or ended."""

    local_relay: LocalRelay
    processes: RoleProcesses

    def monotonic(self) -> float:
        came = set(self.local_relay._joined)
        is_settled = all(role in came or code is not None for role, code in self.processes.poll().items())
        return time.monotonic() + (LONG_S if is_settled else 0.0)
