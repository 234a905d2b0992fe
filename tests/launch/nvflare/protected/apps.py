"""Protected apps over the fake engine: each site with files of its own, its app's tasks in a thread beside its role."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.launch.nvflare.fake_engine import FakeEngine

from hekat.channel import PartyKey
from hekat.job.approvals import approve
from hekat.job.averaging.job_file import load_averaging_job
from hekat.job.averaging.job_text import write_averaging_job
from hekat.job.site_file import load_site
from hekat.launch.nvflare.door import Door
from hekat.launch.nvflare.order import SERVER, RunOrder
from hekat.launch.nvflare.protected.app_party import AppParty, Update
from hekat.launch.nvflare.protected.app_role import AppRole
from hekat.launch.nvflare.protected.handover import Handover
from hekat.launch.nvflare.site_link import SiteLink
from hekat.state import new_run_id

PARTIES = ("north", "lake", "county")
START = {"w": np.zeros((2, 3), np.float32), "b": np.ones(2, np.float64), "steps": np.array(7)}
App = Callable[[AppParty, str], Any]


@dataclass
class Sites:
    """Every organisation's folder under `place`; `settings` are further keys of the job."""

    place: Path
    settings: Mapping[str, object] = field(default_factory=dict)
    parties: tuple[str, ...] = PARTIES
    policy: str = 'protocols = ["averaging"]'
    engine: FakeEngine = field(default_factory=FakeEngine)
    keys: dict[str, PartyKey] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.roles = (*self.parties, "aggregator")
        for role in self.roles:
            self.keys[role] = PartyKey.generate()
            (self.place / role).mkdir(parents=True)
            self.keys[role].save(self.place / role / "own.key")
            lines = [
                "format = 1",
                f"[party.{role}]",
                'party_key = "own.key"',
                'state = "state"',
                "[policy]",
                self.policy,
            ]
            (self.place / role / "site.toml").write_text("\n".join(lines) + "\n")

    def order(self, **changed: object) -> RunOrder:
        """A job for these sites; `changed` replaces settings of it, or `parties`."""
        settings = {"rounds": 2, "weight_max": 100, "timeout_s": 20.0, **self.settings, **changed}
        parties = settings.pop("parties", self.parties)
        pins = {role: key.pin for role, key in self.keys.items()}
        text = write_averaging_job("app", parties, settings, pins)
        return RunOrder(text, {**{party: party for party in parties}, "aggregator": SERVER}, new_run_id())

    def approve(self, order: RunOrder) -> RunOrder:
        """Have every party approve the order's job."""
        with order.as_file() as path:
            job = load_averaging_job(path)
        for party in self.parties:
            approve(load_site(self.place / party / "site.toml"), party, job.digest, job.name)
        return order

    def role(self, role: str, order: RunOrder) -> AppRole:
        site = order.sites.get(role, role)
        door = self.engine.doors.setdefault(site, Door())
        link = SiteLink(self.place / role / "site.toml", self.place / role / "runs")
        return AppRole(order, site, link, door, self.engine.ask)

    def run_of(self, role: str, order: RunOrder) -> Path:
        return self.place / role / "runs" / order.run_id


@dataclass
class Ended:
    """How one site ended: its role's error, what its app returned, and its app's error."""

    role_error: BaseException | None = None
    result: Any = None
    app_error: BaseException | None = None


def play_all(sites: Sites, order: RunOrder, app: App, orders: Mapping[str, RunOrder] | None = None) -> dict[str, Ended]:
    """Play every role at its site; `orders` are those that a hostile server gives single sites."""
    with ThreadPoolExecutor(2 * len(sites.roles)) as pool:
        running = {role: pool.submit(_play, sites, role, (orders or {}).get(role, order), app) for role in sites.roles}
        return {role: one.result() for role, one in running.items()}


def _play(sites: Sites, name: str, order: RunOrder, code: App) -> Ended:
    role, handover, ended = sites.role(name, order), Handover(), Ended()
    app = None if name == "aggregator" else AppParty(role.job(), name, handover)

    def play_role() -> None:
        try:
            role.play(app, handover)
        except BaseException as error:
            ended.role_error = error
        handover.end(ended.role_error)

    with ThreadPoolExecutor(1) as pool:
        played = pool.submit(play_role)
        if app is not None:
            try:
                ended.result = code(app, name)
            except BaseException as error:
                ended.app_error = error
            if not handover.is_over:
                handover.finish()
        played.result()
    return ended


def number_of(party: str) -> int:
    return PARTIES.index(party) if party in PARTIES else len(PARTIES)


def update_of(party: str, model: Mapping[str, Any], round_number: int) -> dict[str, Any]:
    """What a site's training makes of the model."""
    step = (number_of(party) + 1) * 0.25 * 0.5**round_number
    return {"w": model["w"] + np.float32(step), "b": model["b"] - step, "steps": model["steps"] + number_of(party)}


def weight_of(party: str) -> int:
    return 10 * (number_of(party) + 1)


def train(rounds: int = 2, *, is_difference: bool = False) -> App:
    """An app of so many rounds; returns the models it was given, its answers and the model at the end."""

    def code(app: AppParty, party: str) -> Any:
        given, answers = [], []
        for number in range(rounds):
            model = app.install(number, START if number == 0 else {name: 0 * value for name, value in START.items()})
            given.append({name: value.copy() for name, value in model.items()})
            values = update_of(party, model, number)
            if is_difference:
                values = {name: value - model[name] for name, value in values.items()}
            metrics = {"loss": 0.5 + number_of(party)}
            answers.append(app.sum_up(Update(values, is_difference, weight_of(party), metrics)))
        return given, answers, app.model

    return code
