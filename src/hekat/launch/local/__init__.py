"""Roles in processes of their own on one machine, and the relay over a socket that carries their sealed bytes."""

from hekat.launch.local.relay import LocalRelay
from hekat.launch.local.relay_channel import RelayChannel, join_relay
from hekat.launch.local.terms import JoinRequest, RunTerms

__all__ = ["JoinRequest", "LocalRelay", "RelayChannel", "RunTerms", "join_relay"]
