"""HekatRecipe: a Hekat job as a job of NVIDIA FLARE, for the simulator, a POC, or sites in production."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nvflare.job_config.api import FedJob
from nvflare.recipe.poc_env import PocEnv
from nvflare.recipe.run import Run
from nvflare.recipe.secrets import PotentialSecretWarning
from nvflare.recipe.sim_env import SimEnv
from nvflare.recipe.spec import ExecEnv, Recipe

from hekat.errors import InputError
from hekat.job.load_any_job import load_any_job
from hekat.launch.nvflare.controller import HekatController
from hekat.launch.nvflare.engine_defaults import allow_hekat
from hekat.launch.nvflare.executor import TASK, HekatExecutor
from hekat.launch.nvflare.one_machine import OneMachine
from hekat.launch.nvflare.order import SERVER, make_order
from hekat.launch.nvflare.outcome import RunOutcome
from hekat.launch.nvflare.site_link import LINK_VARIABLE


class HekatRecipe(Recipe):  # type: ignore[misc]
    """A job file, made a job of NVIDIA FLARE that carries its text and no code: sites run what they have installed.

    Each role is played at the client site of its name, a horizontal job's aggregator at the server; `sites` names
    others, as in {"lake": "site-2"}. In SimEnv and PocEnv this machine plays every site, with the site file `site`
    (None: site.toml beside the job), and every site's runs lie in a folder of `runs`. In ProdEnv every site has a site
    file of its own. Raises JobError, InputError or PolicyError for a job that cannot be run.
    """

    def __init__(
        self,
        job: str | os.PathLike[str],
        *,
        sites: Mapping[str, str] | None = None,
        site: str | os.PathLike[str] | None = None,
        runs: str | os.PathLike[str] = "runs",
    ) -> None:
        path = Path(job)
        self._order = make_order(path, sites)
        self._machine = OneMachine(load_any_job(path), self._order, Path(site or path.parent / "site.toml"), Path(runs))
        super().__init__(self._make_job(load_any_job(path).name))

    @property
    def run_id(self) -> str:
        """The run's name at every site."""
        return self._order.run_id

    def outcomes(self) -> dict[str, RunOutcome]:
        """How the run went, by role, for roles that this machine played under SimEnv or PocEnv and that have ended."""
        return self._machine.outcomes()

    def run(self, env: ExecEnv, server_exec_params: Any = None, client_exec_params: Any = None) -> Run:
        """As `Recipe.run`. In SimEnv the run is over when this returns.

        Raises InputError where `env` has not the sites that the job names.
        """
        if not isinstance(env, SimEnv):
            with self._job_is_no_secret():
                return super().run(env, server_exec_params, client_exec_params)
        with tempfile.TemporaryDirectory(prefix="hekat-") as place, _links_at(place), self._job_is_no_secret():
            self._prepare_simulator(env, Path(place))
            return super().run(env, server_exec_params, client_exec_params)

    def export(self, *arguments: Any, **named: Any) -> None:
        """As `Recipe.export`."""
        with self._job_is_no_secret():
            super().export(*arguments, **named)

    def process_env(self, env: ExecEnv) -> None:
        """Called by `run` and `export`."""
        if isinstance(env, PocEnv):
            self._check_clients(env.clients, "PocEnv")
            _before_submission(env, self._prepare_kits)

    def _prepare_simulator(self, env: SimEnv, place: Path) -> None:
        self._check_clients(env.clients, "SimEnv")
        if env.num_threads < len(self._order.client_sites):
            raise InputError(
                "the simulator would let sites wait for each other for ever",
                expected=f"a thread for each of {len(self._order.client_sites)} sites",
                got=f"num_threads={env.num_threads}",
                cure="leave num_threads out",
            )
        allow_hekat(Path(env.workspace_root) / self.name / "local")
        self._machine.write_links(place)

    def _prepare_kits(self, kits: Path) -> None:
        for site in self._order.sites.values():
            allow_hekat(kits / site / "local")
            self._machine.write_link(site, kits / site / "local")
        if SERVER not in self._order.sites.values():
            allow_hekat(kits / SERVER / "local")

    def _check_clients(self, clients: list[str] | None, env: str) -> None:
        wanted = self._order.client_sites
        if sorted(clients or []) != sorted(wanted):
            raise InputError(
                "the environment has other sites than the job",
                expected=f"sites {', '.join(wanted)}",
                got=", ".join(clients) if clients else "sites without names",
                cure=f"{env}(clients={wanted!r}, num_clients={len(wanted)})",
            )

    @contextmanager
    def _job_is_no_secret(self) -> Iterator[None]:
        """The engine warns of long random texts in a job: not of the two that are the job file and its digest."""
        arguments = self._order.to_arguments()
        lengths = "|".join(str(len(str(arguments[name]))) for name in ("job", "digest"))
        with warnings.catch_warnings():
            own = rf"Potential secret .*'\*\*\*' \(({lengths}) chars\)"
            warnings.filterwarnings("ignore", own, PotentialSecretWarning)
            yield

    def _make_job(self, name: str) -> FedJob:
        arguments = self._order.to_arguments()
        clients = self._order.client_sites
        job = FedJob(name=re.sub(r"[^A-Za-z0-9_-]", "-", name), min_clients=len(clients), mandatory_clients=clients)
        # Without this the engine copies Hekat's source into the job, and sites would run the job's code.
        job.set_app_packages(["hekat"])
        job.to_server(HekatController(arguments))
        for site in clients:
            job.to(HekatExecutor(arguments), site, tasks=[TASK])
        return job


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
