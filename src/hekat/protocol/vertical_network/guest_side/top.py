"""The guest's top: a dense network of Hekat's, or what a maker of the guest's own gives."""

from __future__ import annotations

from hekat.model.split import DenseTop, Top, TopTask
from hekat.protocol.vertical_network.network_settings import NetworkShape
from hekat.protocol.vertical_network.own_features import call_maker, draw_seed
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings


def make_top(settings: VerticalNetworkSettings, run: NetworkRun) -> Top:
    """The top that a training begins with. Raises InputError for one that cannot be made or has other outputs."""
    shape = settings.network
    task = TopTask(shape.units, settings.output_count, settings.training.learning_rate, draw_seed(run, 2))
    if run.make_top is None:
        return dense_top(shape, task)
    return call_maker(f"the top of {settings.guest}", run.make_top, task, Top)


def dense_top(shape: NetworkShape, task: TopTask) -> DenseTop:
    """Hekat's own top."""
    return DenseTop(
        task.units,
        shape.top_hidden,
        task.output_count,
        activation=shape.activation,
        learning_rate=task.learning_rate,
        seed=task.seed,
    )
