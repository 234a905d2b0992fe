"""What arbiter and aggregator each hold between rounds: a share of weights and velocity, and the transcript."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import StateError
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.messages import ModelShareMessage
from hekat.protocol.encrypted_model.party_run import SHARE, TRANSCRIPT, EncryptedModelRun, ShareState
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.steps import round_step
from hekat.protocol.encrypted_model.transcript import DIGEST_BYTES, begin_transcript, extend_transcript
from hekat.protocol.shares.share_array import ShareArray, zero_shares


@dataclass(frozen=True)
class HeldShare:
    """`share` (size, K, 2) mod 2^128 at 2^-WEIGHT_BITS after `rounds_done` rounds."""

    share: ShareArray = field(repr=False)
    transcript: bytes
    rounds_done: int

    @classmethod
    def begin(cls, channel: RecordedChannel, shape: tuple[int, int], run: EncryptedModelRun) -> HeldShare:
        """Weights of 0, or what the run is resumed from. Raises StateError for a state of another model."""
        resumed = run.resume_from
        if resumed is None or not resumed.rounds_done:
            return cls(zero_shares(shape), begin_transcript(channel.session_id), 0)
        share, transcript = resumed.arrays.get(SHARE), resumed.arrays.get(TRANSCRIPT)
        if share is None or transcript is None or share.shape != (*shape, 2) or transcript.shape != (DIGEST_BYTES,):
            raise StateError(
                f"{channel.party} cannot resume from its state",
                expected=f"shares of {shape[0]} numbers for {shape[1]} columns of targets",
                got="others",
                cure="resume from the folder of this role in this run, or begin anew",
            )
        return cls(share, transcript.tobytes(), resumed.rounds_done)

    @classmethod
    def of(cls, state: ShareState) -> HeldShare:
        """What arbiter or aggregator hold in a state of their own run."""
        return cls(state.arrays[SHARE], state.arrays[TRANSCRIPT].tobytes(), state.rounds_done)

    def after(self, share: ShareArray, total: bytes) -> HeldShare:
        """The share after one more round with the masked sum `total`."""
        return HeldShare(share, extend_transcript(self.transcript, total), self.rounds_done + 1)

    def state(self, rounds: int) -> ShareState:
        """What to resume from."""
        arrays: dict[str, npt.NDArray[Any]] = {SHARE: self.share, TRANSCRIPT: np.frombuffer(self.transcript, np.uint8)}
        return ShareState(arrays, self.rounds_done, finished=self.rounds_done >= rounds)

    def hand_over(self, channel: RecordedChannel, settings: EncryptedModelSettings, weight_count: int) -> None:
        """Send the owner the share of the weights, without the velocity's."""
        share = np.ascontiguousarray(self.share[:weight_count])
        channel.send(settings.owner, round_step(self.rounds_done, "model"), ModelShareMessage(share, self.transcript))
