"""Where an order runs: the engine's simulator and POC, whose sites this machine plays, and production."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nvflare.recipe.poc_env import PocEnv
from nvflare.recipe.secrets import PotentialSecretWarning
from nvflare.recipe.sim_env import SimEnv
from nvflare.recipe.spec import ExecEnv

from hekat.errors import InputError
from hekat.launch.nvflare.engine_defaults import allow_hekat
from hekat.launch.nvflare.one_machine import OneMachine
from hekat.launch.nvflare.order import SERVER
from hekat.launch.nvflare.site_link import LINK_VARIABLE


@dataclass(frozen=True)
class Environment:
    """What has to be there before the engine starts the job called `name`; `machine` plays every site, if one does."""

    machine: OneMachine
    name: str

    @contextmanager
    def prepared(self, env: ExecEnv) -> Iterator[None]:
        """While the engine runs the job in `env`, or submits it. Raises InputError where `env` has not the sites that
        the job names."""
        with self.without_warnings():
            if not isinstance(env, SimEnv):
                yield
                return
            with tempfile.TemporaryDirectory(prefix="hekat-") as place, _links_at(place):
                self._prepare_simulator(env, Path(place))
                yield

    def prepare_kits(self, env: ExecEnv) -> None:
        """Have a POC's start-up kits prepared once they are made; other environments need nothing here."""
        if isinstance(env, PocEnv):
            self._check_clients(env.clients, "PocEnv")
            _before_submission(env, self._write_kits)

    @contextmanager
    def without_warnings(self) -> Iterator[None]:
        """The engine warns of long random texts in a job: not of the two that are the job file and its digest."""
        arguments = self.machine.order.to_arguments()
        lengths = "|".join(str(len(str(arguments[name]))) for name in ("job", "digest"))
        with warnings.catch_warnings():
            own = rf"Potential secret .*'\*\*\*' \(({lengths}) chars\)"
            warnings.filterwarnings("ignore", own, PotentialSecretWarning)
            yield

    def _prepare_simulator(self, env: SimEnv, place: Path) -> None:
        self._check_clients(env.clients, "SimEnv")
        client_sites = self.machine.order.client_sites
        if env.num_threads < len(client_sites):
            raise InputError(
                "the simulator would let sites wait for each other for ever",
                expected=f"a thread for each of {len(client_sites)} sites",
                got=f"num_threads={env.num_threads}",
                cure="leave num_threads out",
            )
        allow_hekat(Path(env.workspace_root) / self.name / "local")
        self.machine.write_links(place)

    def _write_kits(self, kits: Path) -> None:
        for site in {*self.machine.order.sites.values(), SERVER}:
            allow_hekat(kits / site / "local")
            self.machine.write_link(site, kits / site / "local")

    def _check_clients(self, clients: list[str] | None, env: str) -> None:
        wanted = self.machine.order.client_sites
        if sorted(clients or []) != sorted(wanted):
            raise InputError(
                "the environment has other sites than the job",
                expected=f"sites {', '.join(wanted)}",
                got=", ".join(clients) if clients else "sites without names",
                cure=f"{env}(clients={wanted!r}, num_clients={len(wanted)})",
            )


@contextmanager
def _links_at(folder: str) -> Iterator[None]:
    """The simulator's processes find their links by this process's environment."""
    former = os.environ.get(LINK_VARIABLE)
    os.environ[LINK_VARIABLE] = folder
    try:
        yield
    finally:
        if former is None:
            del os.environ[LINK_VARIABLE]
        else:
            os.environ[LINK_VARIABLE] = former


def _before_submission(env: PocEnv, prepare: Callable[[Path], None]) -> None:
    """Have `prepare` called with the folder of the start-up kits, once `env` has made them and before it submits.

    `PocEnv.deploy` makes kits, starts the sites and submits at one go, and has no hook between.
    """
    open_session = env._get_session_manager

    def prepared() -> Any:
        env._get_session_manager = open_session
        prepare(Path(env._get_admin_startup_kit_path()).parent)
        return open_session()

    env._get_session_manager = prepared
