"""Joint prediction with the parts of a vertical regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.job.policy.policy_check import PolicyCheck
from hekat.job.site_file import Site
from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.job.vertical_linear.site_check import check_score_bits
from hekat.launch.vertical.predict import JointPredictions, PredictionWay, predict_with
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.matching import MatchedTable, Matching
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_roles import match_and_predict
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.answers import answers_of
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS, PredictionSettings
from hekat.run.load_keys import load_key_pair
from hekat.run.vertical_linear.part_file import PARTS, RegressionPart
from hekat.scheme.paillier import KeyPair
from hekat.summary.vertical_linear.metrics_of_scores import metrics_of_scores

FloatArray = npt.NDArray[np.float64]


def predict_jointly(
    run_folder: Path,
    site: Site,
    data_name: str,
    receivers: Sequence[str] = (),
    *,
    score_bits: int = SCORE_BITS,
    ask_passphrase: Callable[[], bytes] | None = None,
    timeout_s: float | None = None,
) -> JointPredictions:
    """Predict for the rows that every party of the model calls `data_name`, all parties on this machine.

    `receivers` learn the scores, to 2^-score_bits: the guest alone where none is named. Raises StateError where parts
    are missing, PolicyError where a site allows no scores this fine or no keys this small, and as `predict_with`.
    """
    way = regression_way(
        PARTS.load_all(run_folder), site, receivers, score_bits=score_bits, ask_passphrase=ask_passphrase
    )
    return predict_with(way, run_folder, site, data_name, timeout_s)


def regression_way(
    saved: Mapping[str, RegressionPart],
    site: Site,
    receivers: Sequence[str] = (),
    *,
    score_bits: int = SCORE_BITS,
    ask_passphrase: Callable[[], bytes] | None = None,
) -> PredictionWay[ModelPart]:
    """How the parts `saved`, of all parties or of the one that plays here, predict; otherwise as `predict_jointly`."""
    settings = PredictionSettings.of(next(iter(saved.values())).part, receivers, score_bits)
    return _RegressionWay(saved, settings, site, ask_passphrase)


class _RegressionWay(PredictionWay[ModelPart]):
    protocol = PROTOCOL

    def __init__(
        self,
        saved: Mapping[str, RegressionPart],
        settings: PredictionSettings,
        site: Site,
        ask_passphrase: Callable[[], bytes] | None,
    ) -> None:
        super().__init__(saved)
        self._settings, self._site, self._ask_passphrase = settings, site, ask_passphrase
        self._key_pairs: dict[str, KeyPair] = {}

    @property
    def settings(self) -> PredictionSettings:
        return self._settings

    @property
    def key_sizes(self) -> dict[str, int]:
        part = self.first.part
        return {"protection.key_bits": part.key_bits} if part.form == "shared_weights" else {}

    def checks(self, site: Site) -> list[PolicyCheck]:
        policy, bits = site.policy, self._settings.score_bits
        return [
            PolicyCheck(
                "policy.max_score_bits",
                f"{bits} bits",
                str(policy.max_score_bits),
                lambda: check_score_bits(policy, bits),
            )
        ]

    def prepare(self) -> None:
        """Load the keys that the site keeps for parties that compute on shares; with weights of one's own none is."""
        for party, one in self.saved.items():
            path = self._site.parties[party].paillier_key
            if one.part.form == "shared_weights" and path is not None:
                self._key_pairs[party] = load_key_pair(path, party, one.part.key_bits, self._ask_passphrase)

    def predict(
        self, channel: RecordedChannel, name: str, table: Table, matching: Matching, count: Callable[[int], None]
    ) -> tuple[FloatArray | None, MatchedTable]:
        part = self.saved[name].part
        run = PartyRun(matching.stopwatch, key_pair=self._key_pairs.get(name), count_predictions=count)
        makes_key = part.needs_key and run.key_pair is None
        predicted = match_and_predict(
            channel, part, table, self._settings, matching, lambda matched: run, makes_key=makes_key
        )
        return predicted.scores, predicted.matched

    def answers_of(self, part: ModelPart, scores: FloatArray) -> tuple[npt.NDArray[Any], FloatArray | None]:
        return answers_of(part.classes, scores)

    def metrics_of(self, part: ModelPart, scores: FloatArray, labels: npt.NDArray[Any]) -> dict[str, float]:
        return metrics_of_scores(part.classes, scores, labels)
