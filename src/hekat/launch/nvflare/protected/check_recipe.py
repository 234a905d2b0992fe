"""What Hekat cannot protect of an app, found before anything is submitted, each with its cure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nvflare.apis.job_def import ALL_SITES, SERVER_SITE_NAME
from nvflare.app_common.workflows.fedavg import FedAvg
from nvflare.recipe.spec import Recipe

from hekat.errors import InputError
from hekat.job.averaging.job_file import AveragingJob

_STREAMERS = ("JobLogStreamer", "TensorClientStreamer", "MetricRelay")
# Subclasses of FedAvg whose server does more than average; they need the mean, and nothing beside the model.
_WITH_SERVER_STEP = ("FedOpt",)


def find_controller(recipe: Recipe) -> FedAvg:
    """The recipe's workflow. Raises InputError where it is not the one that Hekat knows."""
    app = recipe._job._deploy_map.get(SERVER_SITE_NAME)
    workflows = [] if app is None else [one.controller for one in app.app_config.workflows]
    known = type(workflows[0]) if len(workflows) == 1 else None
    is_known = known is FedAvg or (
        known is not None and issubclass(known, FedAvg) and known.__name__ in _WITH_SERVER_STEP
    )
    if not is_known:
        raise InputError(
            "the app's workflow cannot be protected",
            expected="FedAvg alone, as NumpyFedAvgRecipe and the FedAvgRecipe of PyTorch have it",
            got=", ".join(type(one).__name__ for one in workflows) or "none",
            cure="use such a recipe, without cross-site evaluation; for other protocols write a job: HekatRecipe",
        )
    return workflows[0]


def client_apps(recipe: Recipe) -> dict[str, Any]:
    """The configuration of the app at each client site, or at all of them."""
    recipe._ensure_client_apps_prepared()
    deployed = recipe._job._deploy_map.items()
    return {site: app.app_config for site, app in deployed if site != SERVER_SITE_NAME}


def check_recipe(recipe: Recipe, job: AveragingJob) -> None:
    """Raise InputError for the first thing that would leave a site beside Hekat, or would make of the mean another
    value than what the job says."""
    controller = find_controller(recipe)
    for what, expected, got, cure in _refusals(recipe, controller, job):
        raise InputError(f"the app cannot be protected: {what}", expected=expected, got=got, cure=cure)


_Refusal = tuple[str, str, str, str]


def _refusals(recipe: Recipe, controller: FedAvg, job: AveragingJob) -> Iterator[_Refusal]:
    yield from _of_rounds(controller, job)
    yield from _of_server(controller, job)
    if getattr(recipe, "_tensor_streaming_added", False) or controller.enable_tensor_disk_offload:
        yield "tensors are streamed past filters", "tensors in the task's result", "tensor streaming", "leave it out"
    if getattr(recipe, "_cse_added", False):
        yield "cross-site evaluation sends models of single sites", "training alone", "it is added", "leave it out"
    yield from _of_clients(recipe, job)


def _of_rounds(controller: FedAvg, job: AveragingJob) -> Iterator[_Refusal]:
    parties = len(job.settings.parties)
    if controller.num_clients != parties:
        what = "its server samples clients" if controller.num_clients < parties else "it asks for more clients"
        yield what, f"min_clients={parties}, all parties in every round", str(controller.num_clients), "change it"
    if controller.num_rounds > job.round_count:
        yield "it has more rounds", f"up to the {job.round_count} of the job", str(controller.num_rounds), "change one"
    if controller.start_round != 0:
        yield "it begins in the middle", "start_round=0", str(controller.start_round), "leave start_round out"


def _of_server(controller: FedAvg, job: AveragingJob) -> Iterator[_Refusal]:
    if controller.aggregator is not None:
        got = type(controller.aggregator).__name__
        yield "a custom aggregator is to see every update", "no aggregator", got, "leave aggregator out"
    if controller.aggregation_weights:
        cure = "leave it out; a site's weight is what its app reports as steps"
        yield "the server weighs sites", "no aggregation_weights", "aggregation_weights", cure
    if controller.exclude_vars:
        yield "the server leaves variables out", "no exclude_vars", "exclude_vars", "have the app not send them"
    if job.server_learns_model:
        return
    learns = "or server_learns_model=True, where every site allows it"
    if type(controller) is not FedAvg:
        yield "its server needs the mean", "FedAvg", type(controller).__name__, f"use FedAvg, {learns}"
    if controller.stop_cond:
        yield "its server stops by metrics", "no stop_cond", "stop_cond", f"leave it out, {learns}"


def _of_clients(recipe: Recipe, job: AveragingJob) -> Iterator[_Refusal]:
    apps = client_apps(recipe)
    if set(apps) not in ({ALL_SITES}, set(job.settings.parties)):
        got = ", ".join(sorted(apps))
        yield "its sites are not the parties", ", ".join(job.settings.parties), got, "name the same sites"
    for app in apps.values():
        streamers = [type(one).__name__ for one in app.components.values() if type(one).__name__ in _STREAMERS]
        if streamers:
            yield "a client sends the server more than results", "no streamer", streamers[0], "leave it out"
        filters = [one for chain in (app.task_data_filters, app.task_result_filters) for one in chain[:]]
        named = [type(one).__name__ for _, several in filters for one in several]
        own = [name for name in named if name not in ("InstallModel", "SumUpdate")]
        if own:
            cure = "leave it out; a filter in a site's privacy.json runs before Hekat's"
            if "HE" in own[0]:
                cure = "leave it out: Hekat does the same without a shared key"
            yield "it has a filter beside Hekat's", "no filter of the job at clients", own[0], cure
