"""Labels that other parties may learn only by odds: flipped once, the same in every run, and in every protocol."""

from hekat.protocol.vertical.label_privacy.corrected_odds import correct_log_odds, correct_softmax
from hekat.protocol.vertical.label_privacy.label_flips import LabelFlips, LabelQuestion
from hekat.protocol.vertical.label_privacy.randomised_response import MAX_EPSILON, RandomisedResponse
from hekat.protocol.vertical.label_privacy.replaced_labels import OwnLabels, answer_once, check_epsilon, replace_labels

__all__ = [
    "MAX_EPSILON",
    "LabelFlips",
    "LabelQuestion",
    "OwnLabels",
    "RandomisedResponse",
    "answer_once",
    "check_epsilon",
    "correct_log_odds",
    "correct_softmax",
    "replace_labels",
]
