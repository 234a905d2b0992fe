"""Encrypted federated averaging in a training loop of one's own: one call a round, no job file."""

from hekat.own_loop.federated_run import Federated, federate
from hekat.own_loop.party import Party

__all__ = ["Federated", "Party", "federate"]
