"""Training loops of one's own without a job file: averaging, one call a round; split networks, two calls a batch."""

from hekat.own_loop.changes.adapters import start_adapters
from hekat.own_loop.federated_run import Federated, federate
from hekat.own_loop.party import Party
from hekat.own_loop.split.federated_split import FederatedSplit, federate_split
from hekat.own_loop.split.guest import SplitGuest
from hekat.own_loop.split.host import SplitHost

__all__ = [
    "Federated",
    "FederatedSplit",
    "Party",
    "SplitGuest",
    "SplitHost",
    "federate",
    "federate_split",
    "start_adapters",
]
