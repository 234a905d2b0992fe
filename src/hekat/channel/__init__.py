"""How parties reach each other: the channel's contract, the in-process channel, sealing and party keys."""

from hekat.channel.channel import Channel
from hekat.channel.in_process import InProcessChannel, InProcessHub
from hekat.channel.party_key import PartyKey, PartyPublicKey
from hekat.channel.run_parties import run_parties
from hekat.channel.sealing import SealedChannel
from hekat.channel.traffic import Traffic

__all__ = [
    "Channel",
    "InProcessChannel",
    "InProcessHub",
    "PartyKey",
    "PartyPublicKey",
    "SealedChannel",
    "Traffic",
    "run_parties",
]
