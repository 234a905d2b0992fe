"""`protect`: an app that exists, made one whose updates no server sees."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nvflare.app_common.widgets.convert_to_fed_event import ConvertToFedEvent
from nvflare.recipe.run import Run
from nvflare.recipe.spec import ExecEnv, Recipe

from hekat.errors import InputError
from hekat.job.averaging.job_file import DEFAULT_WEIGHT_MAX, PROTOCOL, TIMEOUT_S, AveragingJob, load_averaging_job
from hekat.job.averaging.job_text import write_averaging_job
from hekat.job.section import read_bytes
from hekat.launch.nvflare.environment import Environment
from hekat.launch.nvflare.one_machine import OneMachine
from hekat.launch.nvflare.order import SERVER, RunOrder
from hekat.launch.nvflare.protected.check_recipe import check_recipe, client_apps, find_controller
from hekat.launch.nvflare.protected.components import PARTY_ID, HekatAggregator, HekatParty, InstallModel, SumUpdate
from hekat.launch.nvflare.protected.lean_filters import SHAPES_ID, SendModelOnce, SpreadZeros
from hekat.launch.nvflare.protected.same_answers import NoteRound, SameAnswers
from hekat.launch.outcome import RunOutcome
from hekat.state import new_run_id
from hekat.toml_text import toml_key


def protect(
    recipe: Recipe,
    parties: Sequence[str] | None = None,
    *,
    job: str | os.PathLike[str] | None = None,
    weight_max: int = DEFAULT_WEIGHT_MAX,
    opening: str = "committee",
    value_bits: int = 16,
    clipping: str = "adaptive",
    alpha: float | None = None,
    server_learns_model: bool = False,
    timeout_s: float = TIMEOUT_S,
    site: str | os.PathLike[str] | None = None,
    runs: str | os.PathLike[str] = "runs",
) -> ProtectedApp:
    """Have the updates of the recipe's app averaged under encryption; its script stays as it is. Call it last.

    The server is given a zero for each tensor, with weight 1 and without metrics; the final model is written at every
    site. With `server_learns_model` the server is given the mean of every round, and of every metric.

    Args:
        recipe: a FedAvg recipe with NumPy or PyTorch.
        parties: the client sites, three or more, for sites on this machine (SimEnv, PocEnv).
        job: the job file that the sites approved, of protocol `averaging`, in place of `parties` and its settings.
        weight_max: a public bound on the steps or rows that an app reports, 1 to 2^40 - 1.
        opening: who opens sums: "committee" or "shared".
        value_bits: bits of a value, 1 to 32.
        clipping: "adaptive", "fixed" or "daciq".
        alpha: the bound for "fixed", the first bound for "adaptive"; None: found from encrypted counts.
        server_learns_model: sites have to allow it in their policy.
        timeout_s: how long the others wait while one site trains.
        site: the site file of all sites where this machine plays them; None: one is made.
        runs: where this machine keeps the sites' runs.

    Returns:
        What says how the app's runs went.

    Raises:
        InputError, PolicyError, JobError: what cannot be protected, with the cure; the recipe is as it was.
    """
    settings: dict[str, object] = {
        "weight_max": weight_max,
        "rounds": find_controller(recipe).num_rounds,
        "server_learns_model": server_learns_model,
        "timeout_s": float(timeout_s),
        "protection": {"opening": opening},
        "codec": {"value_bits": value_bits, "clipping": clipping, **({} if alpha is None else {"alpha": float(alpha)})},
    }
    if (parties is None) == (job is None) or isinstance(parties, str):
        raise InputError(
            "no parties to protect",
            expected="parties=[...], or job=FILE with a job that the sites approved",
            got="both" if parties is not None and job is not None else "neither",
            cure="give one of them",
        )
    if job is not None:
        text = read_bytes(Path(job), "job file")
    else:
        text = write_averaging_job(recipe.name, tuple(parties or ()), settings)
    return ProtectedApp(recipe, text, None if site is None else Path(site), Path(runs))


class ProtectedApp:
    """A protected recipe's runs; each `recipe.run` begins a new one."""

    def __init__(self, recipe: Recipe, job_text: bytes, site: Path | None, runs: Path) -> None:
        self._recipe, self._text, self._runs = recipe, job_text, runs
        self._job = _check_job(job_text)
        self._site: Path | str = site if site is not None else _site_text(self._job)
        if any(PARTY_ID in app.components for app in client_apps(recipe).values()):
            raise InputError("the app is protected already", expected="one call of protect", got="a second one")
        check_recipe(recipe, self._job)
        self._arguments: dict[str, object] = {}
        self._begin()
        self._add_components()

    @property
    def job_text(self) -> str:
        """The job: parties, keys and settings, as sites approve it."""
        return self._text.decode()

    @property
    def run_id(self) -> str:
        """The name of the last run at every site."""
        return self._machine.order.run_id

    def outcomes(self) -> dict[str, RunOutcome]:
        """How the last run went, by role, for sites that this machine played and whose roles have ended."""
        return self._machine.outcomes()

    def folder_of(self, party: str) -> Path:
        """The folder of the party's last run, with model.npz, where this machine played it."""
        return self._machine.folder_of(party)

    def _begin(self) -> None:
        """A run of its own: sites play none twice."""
        settings = self._job.settings
        sites = {**{party: party for party in settings.parties}, settings.aggregator: SERVER}
        order = RunOrder(self._text, sites, new_run_id())
        self._arguments.update(order.to_arguments())
        self._machine = OneMachine(self._job, order, self._site, self._runs)
        self._environment = Environment(self._machine, self._recipe.name)

    def _check_and_begin(self) -> None:
        """What was added to the recipe since `protect` is held to the same."""
        check_recipe(self._recipe, self._job)
        for app in client_apps(self._recipe).values():
            _keep_metrics_at_home(app)
        self._begin()

    def _add_components(self) -> None:
        recipe, controller = self._recipe, find_controller(self._recipe)
        recipe._job.set_app_packages(["hekat"])
        # A site that failed is the protection's matter: it bears some, and ends the run for all where it does not.
        controller._ignore_result_error = True
        recipe._job.to_server(HekatAggregator(self._arguments), id=SHAPES_ID)
        task = controller.task_name
        learns = self._job.server_learns_model
        recipe.add_server_output_filter(NoteRound() if learns else SendModelOnce(), tasks=[task])
        recipe.add_server_input_filter(SameAnswers() if learns else SpreadZeros(), tasks=[task])
        for app in client_apps(recipe).values():
            for executor in app.executors:
                executor.tasks = [task]
        recipe._add_to_client_apps(HekatParty(self._arguments, task), id=PARTY_ID)
        recipe.add_client_input_filter(InstallModel(), tasks=[task])
        recipe.add_client_output_filter(SumUpdate(), tasks=[task])
        run, export, process_env = recipe.run, recipe.export, recipe.process_env

        def protected_run(env: ExecEnv, *arguments: Any, **named: Any) -> Run:
            self._check_and_begin()
            with self._environment.prepared(env):
                return run(env, *arguments, **named)

        def protected_export(*arguments: Any, **named: Any) -> None:
            self._check_and_begin()
            with self._environment.without_warnings():
                export(*arguments, **named)

        def protected_process_env(env: ExecEnv) -> None:
            process_env(env)
            self._environment.prepare_kits(env)

        recipe.run, recipe.export, recipe.process_env = protected_run, protected_export, protected_process_env


def _check_job(text: bytes) -> AveragingJob:
    with tempfile.TemporaryDirectory(prefix="hekat-") as folder:
        path = Path(folder) / "job.toml"
        path.write_bytes(text)
        return load_averaging_job(path)


def _site_text(job: AveragingJob) -> str:
    """A site file of this machine: its owner plays all sites, and asked for what the job says."""
    learns = "true" if job.server_learns_model else "false"
    lines = ["format = 1", *(f"[{toml_key('party', role)}]" for role in job.settings.parties), "[policy]"]
    lines += [
        f'protocols = ["{PROTOCOL}"]',
        f'openings = ["{job.settings.opening}"]',
        f"server_learns_model = {learns}",
    ]
    return "\n".join([*lines, ""])


def _keep_metrics_at_home(app: Any) -> None:
    """Leave out what sends a client's metrics to the server as they are logged."""
    for name, component in list(app.components.items()):
        if isinstance(component, ConvertToFedEvent):
            del app.components[name]
            app.handlers.remove(component)
