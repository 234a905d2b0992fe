"""How parties reach each other: the channel's contract, the in-process channel, sealing and party keys."""

from hekat.channel.channel import Channel
from hekat.channel.in_process import InProcessChannel, InProcessHub
from hekat.channel.run_parties import run_parties

__all__ = ["Channel", "InProcessChannel", "InProcessHub", "run_parties"]
