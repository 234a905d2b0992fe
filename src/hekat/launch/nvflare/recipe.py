"""HekatRecipe: a Hekat job as a job of NVIDIA FLARE, for the simulator, a POC, or sites in production."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nvflare.job_config.api import FedJob
from nvflare.recipe.run import Run
from nvflare.recipe.spec import ExecEnv, Recipe

from hekat.job.load_any_job import load_any_job
from hekat.launch.nvflare.controller import HekatController
from hekat.launch.nvflare.environment import Environment
from hekat.launch.nvflare.executor import TASK, HekatExecutor
from hekat.launch.nvflare.one_machine import OneMachine
from hekat.launch.nvflare.order import make_order
from hekat.launch.outcome import RunOutcome


class HekatRecipe(Recipe):  # type: ignore[misc]
    """A job file, made a job of NVIDIA FLARE that carries its text and no code: sites run what they have installed.

    Each role is played at the client site of its name, a horizontal job's aggregator at the server; `sites` names
    others, as in {"lake": "site-2"}. In SimEnv and PocEnv this machine plays every site, with the site file `site`
    (None: site.toml beside the job), and every site's runs lie in a folder of `runs`. In ProdEnv every site has a site
    file of its own. `resume` is the id of a run that stopped: every site goes on from its own checkpoint, in a new
    session and a new run, at the last round or epoch that all have saved. Raises JobError, InputError or PolicyError
    for a job that cannot be run.
    """

    def __init__(
        self,
        job: str | os.PathLike[str],
        *,
        sites: Mapping[str, str] | None = None,
        site: str | os.PathLike[str] | None = None,
        runs: str | os.PathLike[str] = "runs",
        resume: str | None = None,
    ) -> None:
        path = Path(job)
        self._order = make_order(path, sites, resume)
        self._machine = OneMachine(load_any_job(path), self._order, Path(site or path.parent / "site.toml"), Path(runs))
        super().__init__(self._make_job(load_any_job(path).name))
        self._environment = Environment(self._machine, self.name)

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
        with self._environment.prepared(env):
            return super().run(env, server_exec_params, client_exec_params)

    def export(self, *arguments: Any, **named: Any) -> None:
        """As `Recipe.export`."""
        with self._environment.without_warnings():
            super().export(*arguments, **named)

    def process_env(self, env: ExecEnv) -> None:
        """Called by `run` and `export`."""
        self._environment.prepare_kits(env)

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
