"""The job file of a protected app: whose updates are averaged, by which keys and settings, and who learns the mean.

The engine starts the app, and the app trains. Hekat takes from the engine no more than the updates of this site: all
that decides over their protection stands here, and each site approves it by its digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import PartyPublicKey
from hekat.errors import JobError, PolicyError
from hekat.job.horizontal.job_file import read_codec
from hekat.job.job_head import MAX_TIMEOUT_S, read_head_of
from hekat.job.party_keys import SECTION, read_party_keys
from hekat.job.section import Section
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.setting_checks import refuse_setting

PROTOCOL = "averaging"
LEAST_PARTIES = 3
MAX_ROUNDS = 1_000_000
DEFAULT_WEIGHT_MAX = 2**20
# How long the others wait while one site trains, or is behind with its tasks.
TIMEOUT_S = 4 * 3600.0
_OPENINGS = ("committee", "shared")


@dataclass(frozen=True)
class AveragingJob:
    """A checked job. `digest` is over the file's bytes. `server_learns_model`: the engine's server is given the mean of
    every round, and the means of the metrics that the app reports."""

    name: str
    digest: bytes
    settings: SumSettings
    round_count: int
    server_learns_model: bool
    timeout_s: float
    party_keys: Mapping[str, PartyPublicKey] = field(default_factory=dict, repr=False)
    """The key that every role signs with; none where the job leaves that open."""


def load_averaging_job(path: Path) -> AveragingJob:
    """The job at `path`, checked whole. Raises JobError, InputError or PolicyError with the key and the cure."""
    head = read_head_of(path, PROTOCOL)
    top = head.rest
    settings = _read_settings(top)
    round_count = top.take("rounds", int)
    if not 1 <= round_count <= MAX_ROUNDS:
        refuse_setting("rounds", f"1 to {MAX_ROUNDS}", round_count)
    server_learns_model = top.take("server_learns_model", bool, False)
    timeout_s = top.take("timeout_s", float, TIMEOUT_S)
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise JobError(
            "timeout_s refused",
            expected=f"seconds above 0, up to {MAX_TIMEOUT_S:g} (7 days)",
            got=str(timeout_s),
            cure="change timeout_s: it is how long the others wait while one site trains",
        )
    party_keys = read_party_keys(top.take_section(SECTION), settings.everyone)
    top.finish()
    return AveragingJob(head.name, head.digest, settings, round_count, server_learns_model, timeout_s, party_keys)


def _read_settings(top: Section) -> SumSettings:
    protection = top.take_section("protection")
    opening = protection.take_choice("opening", _OPENINGS)
    check_sum = protection.take("check_sum", bool, False)
    protection.finish()
    settings = SumSettings(
        parties=top.take_texts("parties"),
        aggregator=top.take("aggregator", str, "aggregator"),
        weight_max=top.take("weight_max", int, DEFAULT_WEIGHT_MAX),
        opening=opening,  # type: ignore[arg-type]  # one of _OPENINGS
        check_sum=check_sum,
        codec=read_codec(top.take_section("codec")),
        min_parties=top.take("min_parties", int, 0),
        allow_two_parties=True,  # refused below, without the cure of jobs that may say so
    )
    if len(settings.parties) < LEAST_PARTIES:
        raise PolicyError(
            "two parties learn each other's update from every mean",
            expected=f"at least {LEAST_PARTIES} parties",
            got=str(len(settings.parties)),
            cure="add a party",
        )
    return SumSettings(**{**vars(settings), "allow_two_parties": False})
