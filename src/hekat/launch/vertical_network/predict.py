"""Joint prediction with the parts of a split network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.job.policy.policy_check import PolicyCheck
from hekat.job.site_file import Site
from hekat.job.vertical.site_checks import on_label_epsilon
from hekat.job.vertical_network.job_file import PROTOCOL
from hekat.job.vertical_network.site_check import (
    on_form,
    on_opened_features,
    on_protection,
    on_told_labels,
)
from hekat.launch.vertical.predict import JointPredictions, PredictionWay, predict_with
from hekat.ledger import RecordedChannel
from hekat.model.answers import answers_of
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.matching import MatchedTable, Matching
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.party_roles import match_and_predict
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.prediction.kept_bottom import restore_bottom
from hekat.protocol.vertical_network.prediction.predict_scores import restore_network
from hekat.protocol.vertical_network.prediction.settings import NetworkPredictionSettings
from hekat.protocol.vertical_network.settings import SEALED
from hekat.run.vertical_network.own_bottom import OwnBottom, find_bottom
from hekat.run.vertical_network.own_module import check_same_code
from hekat.run.vertical_network.own_top import OwnTop, find_top
from hekat.run.vertical_network.part_file import NETWORK_PARTS, SavedNetwork
from hekat.summary.metrics_of_outputs import metrics_of_outputs

FloatArray = npt.NDArray[np.float64]


def predict_network_jointly(
    run_folder: Path,
    site: Site,
    data_name: str,
    receivers: Sequence[str] = (),
    *,
    bottoms: Mapping[str, str] | None = None,
    bottom_code: Mapping[str, str] | None = None,
    top: str | None = None,
    top_code: str = "",
    timeout_s: float | None = None,
) -> JointPredictions:
    """Predict for the rows that every party of the model calls `data_name`, all parties on this machine.

    `receivers` learn the scores, the guest always but in form sealed: it alone where none is named. `bottoms` names by
    party the model that made its bottom, as the job did, and `bottom_code` has the SHA-256 of its code in training;
    `top` and `top_code` are the same of the guest's top. Hosts among the receivers need the parts' leave, and the
    guest's site's: for labels as they are, and above its largest epsilon of label privacy. Raises
    StateError where parts are missing, JobError for receivers that they do not allow, InputError for other code, and as
    `predict_with`.
    """
    saved = NETWORK_PARTS.load_all(run_folder)
    way = network_way(saved, site, receivers, bottoms=bottoms, bottom_code=bottom_code, top=top, top_code=top_code)
    return predict_with(way, run_folder, site, data_name, timeout_s)


def network_way(
    saved: Mapping[str, SavedNetwork],
    site: Site,
    receivers: Sequence[str] = (),
    *,
    bottoms: Mapping[str, str] | None = None,
    bottom_code: Mapping[str, str] | None = None,
    top: str | None = None,
    top_code: str = "",
) -> PredictionWay[NetworkPart]:
    """How the parts `saved`, of all parties or of the one that plays here, predict; otherwise as
    `predict_network_jointly`."""
    settings = NetworkPredictionSettings.of(next(iter(saved.values())).part, receivers)
    found = {party: find_bottom(site, bottoms or {}, party) for party in saved}
    for party, bottom in found.items():
        check_same_code(f"the bottom of {party}", bottom.code, (bottom_code or {}).get(party, ""))
    tops = {party: find_top(site, top, party, is_guest=one.part.is_guest) for party, one in saved.items()}
    if settings.guest in tops:
        check_same_code(f"the top of {settings.guest}", tops[settings.guest].code, top_code)
    return _NetworkWay(saved, settings, found, tops)


class _NetworkWay(PredictionWay[NetworkPart]):
    protocol = PROTOCOL

    def __init__(
        self,
        saved: Mapping[str, SavedNetwork],
        settings: NetworkPredictionSettings,
        bottoms: Mapping[str, OwnBottom],
        tops: Mapping[str, OwnTop],
    ) -> None:
        super().__init__(saved)
        self._settings, self._bottoms, self._tops = settings, bottoms, tops

    @property
    def settings(self) -> NetworkPredictionSettings:
        return self._settings

    def checks(self, site: Site) -> list[PolicyCheck]:
        policy, hosts, part = site.policy, self._settings.hosts, self.first.part
        epsilon = part.label_privacy
        tells = self._settings.guest in site.parties and not set(hosts).isdisjoint(self._settings.receivers)
        return [
            on_told_labels(policy, part.form, tells=tells and epsilon is None),
            on_label_epsilon(policy, epsilon if tells else None),
            on_protection(policy, part.protection),
            on_opened_features(policy, is_host=part.form != SEALED and any(host in site.parties for host in hosts)),
            on_form(policy, part.form),
        ]

    def prepare(self) -> None:
        """Make each party's networks once: what does not fit its part is refused before anything is written."""
        for name, saved in self.saved.items():
            if saved.part.form == SEALED:
                continue
            run = self._run_of(name, Stopwatch(), lambda rows: None)
            if saved.part.is_guest:
                restore_network(saved.part, run)
            else:
                restore_bottom(saved.part, run.make_bottom)

    def predict(
        self, channel: RecordedChannel, name: str, table: Table, matching: Matching, count: Callable[[int], None]
    ) -> tuple[FloatArray | None, MatchedTable]:
        run = self._run_of(name, matching.stopwatch, count)
        part = self.saved[name].part
        predicted = match_and_predict(channel, part, table, self._settings, matching, lambda matched: run)
        return predicted.scores, predicted.matched

    def _run_of(self, name: str, stopwatch: Stopwatch, count: Callable[[int], None]) -> NetworkRun:
        bottom, top = self._bottoms[name].make, self._tops[name].make
        return NetworkRun(stopwatch, make_bottom=bottom, make_top=top, count_predictions=count)

    def answers_of(self, part: NetworkPart, scores: FloatArray) -> tuple[npt.NDArray[Any], FloatArray | None]:
        return answers_of(part.classes, scores)

    def metrics_of(self, part: NetworkPart, scores: FloatArray, labels: npt.NDArray[Any]) -> dict[str, float]:
        return metrics_of_outputs(part.classes, scores, labels)
