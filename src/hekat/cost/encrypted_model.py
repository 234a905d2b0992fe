"""What the rounds of a training on an encrypted model will cost: bytes and seconds by role, from a rehearsal.

Two rounds are really trained on random rows, in this process, with the job's settings, roles and number of columns,
under keys that are thrown away; messages do not depend on the values in the rows. What a host multiplies in the clear
grows with its rows: it is rehearsed on as many as it has, up to a limit. Making a Paillier key is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hekat.channel import Channel, PartyKey
from hekat.cost.calibrate import make_passing_key
from hekat.cost.horizontal import RUN_ID
from hekat.cost.rehearsed_rows import deal_labels, normal_rows
from hekat.cost.rehearsed_steps import ColumnsCost, RoleEstimate, costs_of_two_steps
from hekat.data import Table
from hekat.engine.tenancy import declare_tenancy
from hekat.job.encrypted_model.job_file import PROTOCOL
from hekat.job.encrypted_model.key_makers import key_makers
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun, RoundRecord
from hekat.protocol.encrypted_model.roles import run_role
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.run.encrypted_model.load_inputs import EncryptedModelInputs
from hekat.scheme.paillier import KeyPair

MAX_REHEARSED_ROWS = 8192
# Steps on random rows are to end in numbers within the fixed-point room, whatever the job's own rate does.
_RATE = 2.0**-10
_DIGEST = bytes(32)


@dataclass(frozen=True)
class EncryptedModelCost(ColumnsCost):
    """The cost of the rounds; `row_count` are the rows of all hosts."""

    word: str = "round"

    def say_steps(self) -> str:
        """How many rounds there are, for a reader."""
        return super().say_steps().removesuffix(" at most")

    def say_apart(self) -> str:
        """What a run does besides, for a reader."""
        return "making a Paillier key, and giving the owner its model, apart"


def cost_of_encrypted_model_job(inputs: EncryptedModelInputs) -> EncryptedModelCost:
    """Rehearse the job's first two rounds and reckon what all of them take; nothing is written or sent."""
    job, settings = inputs.job, inputs.job.settings
    tables = {host: inputs.split(host)[0] for host in settings.hosts}
    with declare_tenancy(inputs.site.machine.single_tenant):
        keys = {}
        for name in key_makers(job):
            key = make_passing_key(settings.key_bits)
            keys[name] = KeyPair(key.public, key)
        rehearsed = _Rehearsal(inputs, _rehearsed_settings(settings), keys)
        roles = rehearsed.play(tables)
    return EncryptedModelCost(sum(map(len, tables.values())), settings.training.rounds, roles)


@dataclass(frozen=True)
class _Rehearsal:
    inputs: EncryptedModelInputs
    settings: EncryptedModelSettings
    keys: dict[str, KeyPair]

    def play(self, like: dict[str, Table]) -> tuple[RoleEstimate, ...]:
        """Each role's cost up to the end of the first round, and of the second."""
        settings, rng = self.settings, np.random.default_rng(0)
        tables = {host: _random_table(table, settings, rng) for host, table in like.items()}
        party_keys = {name: PartyKey.generate() for name in settings.everyone}
        sessions = make_sessions(party_keys, run_id=RUN_ID, protocol=PROTOCOL, job_digest=_DIGEST)
        worked: dict[str, dict[int, float]] = {name: {} for name in settings.everyone}

        def play(channel: Channel) -> object:
            name = channel.party
            session, watch = sessions[name], sessions[name].stopwatch

            def note_round(record: RoundRecord) -> None:
                worked[name][record.round_number] = sum(watch.seconds.values())

            run = EncryptedModelRun(watch, on_round=note_round, key_pair=self.keys.get(name))
            return session.play(channel, lambda recorded: run_role(recorded, tables.get(name), settings, run))

        play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=self.inputs.job.timeout_s)
        return tuple(
            RoleEstimate(name, *costs_of_two_steps(sessions[name], worked[name], "round-2"))
            for name in settings.everyone
        )


def _rehearsed_settings(settings: EncryptedModelSettings) -> EncryptedModelSettings:
    """The job's, of two rounds, with steps that no rows make diverge."""
    training = replace(settings.training, rounds=2, report_every=0, learning_rate=_RATE)
    return replace(settings, training=training)


def _random_table(like: Table, settings: EncryptedModelSettings, rng: np.random.Generator) -> Table:
    """Rows of as many columns as `like` has, as many as it has or the most, with labels of every class."""
    row_count = min(max(len(like), 2), MAX_REHEARSED_ROWS)
    features = normal_rows(like, row_count, rng)
    return Table(features, deal_labels(settings.classes, row_count, rng), like.feature_names, like.name)
