"""Sites of one run as threads of this process, and an engine that carries bytes between their doors."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.launch.roles_apart import RolesApart

from hekat.launch.nvflare.door import Door
from hekat.launch.nvflare.order import RunOrder, make_order
from hekat.launch.nvflare.site_link import SiteLink
from hekat.launch.nvflare.site_role import SiteRole

Carry = Callable[[str, bytes], bytes]


@dataclass
class FakeEngine:
    """`carry` may alter what goes to a site; every parcel that passed stands in `seen`."""

    carry: Carry = lambda site, parcel: parcel
    doors: dict[str, Door] = field(default_factory=dict)
    seen: list[bytes] = field(default_factory=list)

    def ask(self, site: str, parcel: bytes, timeout_s: float) -> object:
        self.seen.append(parcel)
        door = self.doors.get(site)
        return None if door is None else door.accept(self.carry(site, parcel))


def order_of(apart: RolesApart) -> RunOrder:
    return make_order(apart.together / "job.toml")


def link_of(apart: RolesApart, role: str) -> SiteLink:
    """The link of a site that plays `role` alone, by its own site file."""
    folder = apart.folder_of(role)
    return SiteLink(folder / "site.toml", folder / "runs")


def site_role(apart: RolesApart, role: str, order: RunOrder, engine: FakeEngine) -> SiteRole:
    site = order.sites[role]
    door = engine.doors.setdefault(site, Door())
    return SiteRole(order, site, link_of(apart, role), door, engine.ask)


def play_all(apart: RolesApart, order: RunOrder, engine: FakeEngine) -> dict[str, BaseException | None]:
    """Play every role at its site; what each raised."""
    with ThreadPoolExecutor(len(apart.roles)) as pool:
        played = {role: pool.submit(site_role(apart, role, order, engine).play) for role in apart.roles}
        return {role: one.exception() for role, one in played.items()}


def runs_of(apart: RolesApart, role: str) -> Path:
    return link_of(apart, role).runs
