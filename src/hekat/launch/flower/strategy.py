"""The strategy of a ServerApp: FedAvg whose updates are summed encrypted, so that the server sees none of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from logging import INFO, WARNING
from pathlib import Path
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg, Result, Strategy
from flwr.supercore import log

from hekat.errors import JobError, ProtocolError
from hekat.launch.flower.aggregator_run import AggregatorRun
from hekat.launch.flower.grid_post import POLL_S, GridPost
from hekat.launch.flower.legs import EVALUATE, TRAIN, Legs
from hekat.launch.flower.loop_site import LoopSite, load_aggregator_site
from hekat.launch.flower.protectable import check_learning, check_parties, check_protectable, check_start

FOLDER_VARIABLE = "HEKAT_FLOWER"
_ENDS_WITHIN_S = 30.0


class Protected(Strategy):  # type: ignore[misc]
    """`strategy`, a FedAvg or FedProx, with every update encrypted. The final model is written at the sites.

    The server plays the aggregator: `job` and `site` are the job file and the site file with its key, job.toml and
    site.toml in the folder that HEKAT_FLOWER names where they are not given; `runs` (None: runs beside the job) is for
    the aggregator's ledger. `parties` are those that the app expects, as the job has them.

    `server_learns_model`: the server is given the mean of every round, if the job says so too and every site's policy
    allows it. Sites go on from the mean that they opened, whatever the server sends.

    Raises a HekatError with the cure for what cannot be protected.
    """

    def __init__(
        self,
        strategy: FedAvg,
        parties: Sequence[str],
        *,
        job: str | os.PathLike[str] | None = None,
        site: str | os.PathLike[str] | None = None,
        runs: str | os.PathLike[str] | None = None,
        server_learns_model: bool = False,
        poll_s: float = POLL_S,
    ) -> None:
        check_protectable(strategy)
        job_path = Path(job) if job is not None else _folder() / "job.toml"
        site_path, runs_path = None if site is None else Path(site), Path(runs or job_path.parent / "runs")
        self._loop: LoopSite = load_aggregator_site(job_path, site_path, runs_path)
        check_parties(parties, self._loop.job)
        check_learning(self._loop.job, server_learns_model=server_learns_model)
        self.strategy, self._poll_s = strategy, poll_s

    def summary(self) -> None:
        """As the strategy's own, and what is protected."""
        job = self._loop.job
        log(INFO, "\t├──> Protected by Hekat: job %s, digest %s", job.name, job.digest.hex()[:16])
        log(INFO, "\t│\t├── Parties: %s", ", ".join(job.settings.parties))
        learns = "LEARNS every mean" if job.server_learns_model else "learns no model, weight or metric"
        log(INFO, "\t│\t└── This server %s", learns)
        self.strategy.summary()

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """As `Strategy.start`. `timeout` is what one message may take: a party without a reply by then is lost.

        The result holds no arrays but where the server learns the model. Raises what ended the run.
        """
        job = self._loop.job
        check_start(job, num_rounds, evaluate_fn)
        self.summary()
        started, result = time.time(), Result()
        run = AggregatorRun(self._loop)
        post = GridPost(
            grid,
            run.run_id,
            job.digest.hex(),
            self.strategy.weighted_by_key,
            self.strategy.fraction_evaluate > 0,
            timeout,
            self._poll_s,
        )
        legs = Legs(
            post,
            run,
            job.settings.aggregator,
            job.settings.parties,
            evaluates=post.evaluates,
            awaits_mean=job.server_learns_model,
            tell=lambda text: log(WARNING if text.startswith("LOST") else INFO, "%s", text),
        )
        try:
            replies = post.find_parties(job.settings.parties)
            run.start()
            legs.begin(replies)
            self._play(post, legs, result, initial_arrays, (train_config, evaluate_config), evaluate_fn)
            legs.finish(job.round_count)
        finally:
            run.abandon(_ENDS_WITHIN_S)
        log(INFO, "Run %s finished in %.2f s and %d legs", run.run_id, time.time() - started, legs.legs)
        if not job.server_learns_model:
            log(INFO, "The model is at the sites: runs/%s/model.npz of each. This server has none.", run.run_id)
        return result

    def _play(
        self,
        post: GridPost,
        legs: Legs,
        result: Result,
        arrays: ArrayRecord,
        configs: tuple[ConfigRecord | None, ConfigRecord | None],
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None,
    ) -> None:
        """Every round; with a server that learns the model its steps and its evaluation too."""
        learns = self._loop.job.server_learns_model
        grid = _FixedNodes(list(post.nodes.values()))
        train_config, evaluate_config = (ConfigRecord(dict(config or {})) for config in configs)
        if evaluate_fn is not None:
            _note(result, 0, evaluate_fn(0, arrays))
        for number in range(1, self._loop.job.round_count + 1):
            log(INFO, "[ROUND %s/%s]", number, self._loop.job.round_count)
            evaluate = _content_of(self.strategy.configure_evaluate(number, arrays, evaluate_config, grid))
            post.contents[TRAIN] = _content_of(self.strategy.configure_train(number, arrays, train_config, grid))
            if learns:
                post.contents[EVALUATE] = evaluate
            legs.play_round(number)
            # The parties evaluate this round's mean in the next round, or when the legs finish.
            post.contents[EVALUATE] = evaluate
            if learns:
                result.arrays = arrays = self._learn(number, post, legs.left, arrays)
            if evaluate_fn is not None:
                _note(result, number, evaluate_fn(number, arrays))

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """As the strategy's own."""
        configured: Iterable[Message] = self.strategy.configure_train(server_round, arrays, config, grid)
        return configured

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """As the strategy's own."""
        configured: Iterable[Message] = self.strategy.configure_evaluate(server_round, arrays, config, grid)
        return configured

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> tuple[Any, Any]:
        """Raises ProtocolError: the parties have the mean, and this server has nothing to average."""
        raise _nothing_here()

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Raises ProtocolError: metrics stay at the sites."""
        raise _nothing_here()

    def _learn(self, number: int, post: GridPost, left: Sequence[str], arrays: ArrayRecord) -> ArrayRecord:
        """The mean of the round, as every party that is left gave it, after the strategy's own step.

        `arrays` are those before: integers stay as they were.
        """
        given = [post.means[party] for party in left if party in post.means]
        first = given[0] if given else None
        if first is None or any(_bytes_of(one) != _bytes_of(first) for one in given):
            raise ProtocolError(
                f"the parties do not give one mean of round {number}",
                expected="the same arrays of each party, since the job lets the server learn the model",
                got="different ones" if given else "none",
                cure="look at the parties' ledgers: hekat audit",
            )
        post.learned = number
        post.means.clear()
        metrics = MetricRecord({self.strategy.weighted_by_key: 1})
        mean = ArrayRecord({name: first.get(name, array) for name, array in arrays.items()})
        reply = post.as_reply(RecordDict({self.strategy.arrayrecord_key: mean, "metrics": metrics}))
        stepped, _ = self.strategy.aggregate_train(number, [reply])
        return mean if stepped is None else stepped


class _FixedNodes:
    """In the place of the grid while the strategy configures a round: the nodes of the parties."""

    def __init__(self, nodes: Sequence[int]) -> None:
        self._nodes = list(nodes)

    def get_node_ids(self) -> list[int]:
        return list(self._nodes)


def _content_of(messages: Iterable[Message]) -> RecordDict:
    """What the strategy would send to every node; nothing where it sends nothing."""
    return next((message.content for message in messages), RecordDict())


def _bytes_of(arrays: ArrayRecord) -> list[tuple[str, bytes]]:
    return sorted((name, bytes(array.data)) for name, array in arrays.items())


def _note(result: Result, number: int, metrics: MetricRecord | None) -> None:
    if metrics is not None:
        result.evaluate_metrics_serverapp[number] = metrics


def _folder() -> Path:
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        raise JobError(
            "this server does not say where the aggregator's files lie",
            expected=f"job=... and site=... of Protected, or a folder with job.toml and site.toml in {FOLDER_VARIABLE}",
            got="neither",
            cure=f"start the SuperLink with {FOLDER_VARIABLE}=/etc/hekat/aggregator",
        )
    return Path(named)


def _nothing_here() -> ProtocolError:
    return ProtocolError(
        "the server of a protected strategy has nothing to aggregate",
        expected="Protected(...).start(grid, initial_arrays=...)",
        got="a call of an aggregation by itself",
        cure="call start",
    )
