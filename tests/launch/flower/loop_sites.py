"""Sites of a small loop's job, each with a folder of its own, and what the tests of couriers play over them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hekat.channel import PartyKey
from hekat.job.approvals import approve
from hekat.job.averaging.job_file import AveragingJob, load_averaging_job
from hekat.job.site_file import load_site
from hekat.launch.flower.loop_site import LoopSite, load_loop_site
from hekat.launch.outcome import RunOutcome, outcome_path, read_outcome

PARTIES = ("north", "lake", "county")
AGGREGATOR = "aggregator"
LIMIT_S = 240.0
WEIGHTS = {"north": 100, "lake": 200, "county": 300, "river": 150}

TERMS = "a" * 64
"""What a server says for a round, as a digest."""

JOB = """
format = 2
name = "wards"
protocol = "averaging"
parties = {parties}
aggregator = "aggregator"
weight_max = 1000
rounds = {rounds}
timeout_s = 240.0
{more}

[codec]
clipping = "fixed"
alpha = 4.0

[party_keys]
{keys}
"""


PROTOCOLS = 'protocols = ["averaging"]\n'


@dataclass
class LoopSites:
    """A job, and the folder of each role with its key, site file and state."""

    folder: Path
    job_path: Path
    parties: tuple[str, ...]
    keys: Mapping[str, PartyKey] = field(repr=False)

    @property
    def job(self) -> AveragingJob:
        return load_averaging_job(self.job_path)

    def site_file(self, role: str) -> Path:
        return self.folder / role / "site.toml"

    def runs(self, role: str) -> Path:
        return self.folder / role / "runs"

    def load(self, role: str) -> LoopSite:
        return load_loop_site(self.job_path, self.site_file(role), role, self.runs(role))

    def approve(self) -> None:
        for party in self.parties:
            approve(load_site(self.site_file(party)), party, self.job.digest, "wards")

    def add_policy(self, role: str, lines: str) -> None:
        path = self.site_file(role)
        text = path.read_text()
        if lines.startswith("protocols"):
            text = text.replace(PROTOCOLS, "")
        path.write_text(text + f"{lines}\n")

    def outcome(self, role: str, run_id: str) -> RunOutcome:
        return read_outcome(outcome_path(self.runs(role), run_id))


def make_sites(
    folder: Path, parties: Sequence[str] = PARTIES, *, rounds: int = 2, more: str = "", approved: bool = True
) -> LoopSites:
    """New sites in `folder`; `more` are further lines at the top of the job."""
    keys = {role: PartyKey.generate() for role in (*parties, AGGREGATOR)}
    lines = [f'{role} = "{key.pin}"' for role, key in keys.items()]
    folder.mkdir(exist_ok=True)
    job = folder / "job.toml"
    job.write_text(JOB.format(parties=json.dumps(list(parties)), rounds=rounds, more=more, keys="\n".join(lines)))
    for role, key in keys.items():
        (folder / role).mkdir()
        key.save(folder / role / "party.key")
        state = "" if role == AGGREGATOR else 'state = "state"\n'
        (folder / role / "site.toml").write_text(
            f'format = 1\n[party.{role}]\nparty_key = "party.key"\n{state}[policy]\n{PROTOCOLS}'
        )
    sites = LoopSites(folder, job, tuple(parties), keys)
    if approved:
        sites.approve()
    return sites


def first_state() -> dict[str, np.ndarray]:
    return {"weight": np.zeros((3, 2), np.float32), "bias": np.zeros(2, np.float32), "steps": np.zeros(1, np.int64)}


def train(party: str, state: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """What a site's code would make of a model: another step at each site."""
    step = {"north": 0.5, "lake": -0.25, "county": 1.0, "river": 0.125}[party]
    return {name: values + np.asarray(step, values.dtype) for name, values in state.items()}


def mean_of(parties: Sequence[str], make: Callable[[str], Mapping[str, Any]], name: str) -> np.ndarray:
    """The weighted mean in floats."""
    total = sum(WEIGHTS[party] for party in parties)
    return sum(make(party)[name].astype(float) * WEIGHTS[party] for party in parties) / total
