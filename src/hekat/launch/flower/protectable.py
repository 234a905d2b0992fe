"""What a strategy may be for its sums to be encrypted, and what is refused, each with its cure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from flwr.serverapp.strategy import FedAdagrad, FedAdam, FedAvg, FedAvgM, FedProx, FedYogi
from flwr.serverapp.strategy.strategy_utils import aggregate_metricrecords

from hekat.errors import InputError, PolicyError
from hekat.job.averaging.job_file import LEAST_PARTIES, AveragingJob

_MEANS = (FedAvg, FedProx)
_SERVER_STEPS = (FedAvgM, FedAdagrad, FedAdam, FedYogi)


def check_protectable(strategy: Any) -> None:
    """Raise InputError or PolicyError for a strategy whose aggregation a sum of encrypted updates cannot give."""
    name = type(strategy).__name__
    if not isinstance(strategy, FedAvg):
        _refuse(f"the strategy {name}", "FedAvg or FedProx", "it needs every client's own update")
    if type(strategy).aggregate_train not in [known.aggregate_train for known in (*_MEANS, *_SERVER_STEPS)]:
        _refuse(
            f"the aggregation of {name}",
            "the weighted mean of FedAvg",
            "code that looks at single updates cannot run where nobody has them: use FedAvg or FedProx",
        )
    if isinstance(strategy, _SERVER_STEPS):
        _refuse(
            f"the server's step of {name}",
            "FedAvg or FedProx",
            "sites go on from the mean that they opened, never from what a server sends: use FedAvg",
        )
    if strategy.weighted_by_key != "num-examples":
        _refuse("another weighted_by_key", "'num-examples'", "sites weigh by that metric alone: leave it out")
    if strategy.fraction_train != 1.0:
        _refuse("training at a part of the nodes", "fraction_train=1.0", "a party that is not there counts as lost")
    if strategy.fraction_evaluate not in (0.0, 1.0):
        _refuse("evaluating at a part of the nodes", "fraction_evaluate of 1.0 or 0.0", "evaluate at all, or at none")
    for which in ("train_metrics_aggr_fn", "evaluate_metrics_aggr_fn"):
        if getattr(strategy, which) is not aggregate_metricrecords:
            _refuse(
                f"the strategy's {which}",
                "none",
                "leave it out: no metric leaves a site; each has its own in metrics.jsonl of the run",
            )


def check_parties(parties: Sequence[str], job: AveragingJob) -> None:
    """Raise InputError or PolicyError where the app expects other parties than the job has, or fewer than three."""
    if isinstance(parties, str) or len(parties) < LEAST_PARTIES:
        raise PolicyError(
            "too few parties to protect anybody",
            expected=f"{LEAST_PARTIES} or more names",
            got=repr(parties)[:60],
            cure="from the mean of two each party has the other's update: name more",
        )
    if sorted(parties) != sorted(job.settings.parties):
        raise InputError(
            "the app names other parties than the job",
            expected=", ".join(job.settings.parties),
            got=", ".join(map(str, parties))[:200],
            cure="correct Protected(..., parties=[...]) or the job, which every site has to approve anew",
        )


def check_start(job: AveragingJob, num_rounds: int, evaluate_fn: object) -> None:
    """Raise InputError where `start` asks for what the job does not say."""
    if num_rounds != job.round_count:
        raise InputError(
            "the app's rounds are not the job's",
            expected=f"num_rounds={job.round_count}, as every site approved",
            got=f"num_rounds={num_rounds}",
            cure="correct one of them; a changed job has to be approved anew",
        )
    if evaluate_fn is not None and not job.server_learns_model:
        _refuse(
            "evaluate_fn",
            "none, or a job with server_learns_model = true",
            "the server has no model to evaluate: leave it out, and let the clients evaluate",
        )


def check_learning(job: AveragingJob, *, server_learns_model: bool) -> None:
    """Raise PolicyError where the app and the job differ in whether the server learns the model."""
    if job.server_learns_model != server_learns_model:
        raise PolicyError(
            "the app and the job differ in whether the server learns the model",
            expected=f"server_learns_model={job.server_learns_model}, as every site approved",
            got=f"server_learns_model={server_learns_model}",
            cure="correct one of them; a changed job has to be approved anew",
        )


def _refuse(what: str, expected: str, cure: str) -> NoReturn:
    raise InputError(f"{what} cannot be protected", expected=expected, got=what, cure=cure)
