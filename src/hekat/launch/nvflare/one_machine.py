"""Every site of a run on this machine, as the simulator and a POC have them: a link and a key for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hekat.channel import PartyKey
from hekat.job.load_any_job import AnyJob, roles_of
from hekat.launch.nvflare.order import RunOrder
from hekat.launch.nvflare.site_link import LINK_FILE, SiteLink
from hekat.launch.outcome import RunOutcome, outcome_path, read_outcome
from hekat.run.own_keys import write_key_folder
from hekat.state import replace_file

_KEYS = "hekat-keys"
_SITE_FILE = "hekat-site.toml"


@dataclass(frozen=True)
class OneMachine:
    """`site` is the one site file that all roles share, or its text where the user has none; `runs` has a folder for
    each site."""

    job: AnyJob
    order: RunOrder
    site: Path | str
    runs: Path

    def write_links(self, folder: Path) -> None:
        """Write SITE.toml for each site into `folder`, and keys beside them where the job names none. Raises
        StateError."""
        for site in self.order.sites.values():
            self._write(site, folder / f"{site}.toml", folder / f"{_KEYS}-{site}")

    def write_link(self, site: str, local: Path) -> None:
        """Write hekat.toml into the folder `local` of the site's start-up kit. Raises StateError."""
        self._write(site, local / LINK_FILE, local / f"{_KEYS}-{self.order.run_id}")

    def outcomes(self) -> dict[str, RunOutcome]:
        """The outcome of each role that has ended. Raises StateError."""
        paths = {role: outcome_path(self._runs_of(site), self.order.run_id) for role, site in self.order.sites.items()}
        return {role: read_outcome(path) for role, path in paths.items() if path.exists()}

    def folder_of(self, role: str) -> Path:
        """The folder of the role's run."""
        return self._runs_of(self.order.sites[role]) / self.order.run_id

    def _write(self, site: str, path: Path, keys: Path) -> None:
        role = self.order.role_at(site)
        if role is None:
            return
        if not self.job.party_keys:
            write_key_folder(keys, self._keys[role], {name: key.public for name, key in self._keys.items()})
        link = SiteLink(
            self._site_file(path.parent), self._runs_of(site), None if self.job.party_keys else keys.absolute()
        )
        replace_file(path, link.to_text().encode(), mode=0o600)

    def _site_file(self, folder: Path) -> Path:
        if isinstance(self.site, Path):
            return self.site.absolute()
        path = folder.absolute() / _SITE_FILE
        replace_file(path, self.site.encode(), mode=0o600)
        return path

    def _runs_of(self, site: str) -> Path:
        return self.runs.absolute() / site

    @cached_property
    def _keys(self) -> Mapping[str, PartyKey]:
        """A key for each role, made for this run alone."""
        return {role: PartyKey.generate() for role in roles_of(self.job)}
