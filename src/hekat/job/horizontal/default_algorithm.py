"""Which algorithm a job has that names none, and the defaults that depend on the algorithm."""

from __future__ import annotations

from hekat.job.section import Section
from hekat.model import MODEL_NAMES, NETWORKS
from hekat.protocol.horizontal.settings import ModelSettings, TrainingSettings
from hekat.protocol.secure_sum.settings import CodecSettings

# Rounds after which a line search ends at the latest; it settles well before on most tables.
LINE_SEARCH_ROUNDS = 100
# Of a network, whose loss has no bound on its curvature.
NETWORK_ROUNDS = 300
# Rounding misleads a line search near its end; more bits than these no site allows unless it says so.
LINE_SEARCH_BITS = 24
# Settings that lbfgs does not have: a job with one of them means local steps.
_OF_LOCAL_STEPS = frozenset(
    {
        "local_epochs",
        "batch_rows",
        "learning_rate",
        "optimiser",
        "optimiser_settings",
        "proximal_mu",
        "error_feedback",
        "keep",
        "keep_by",
        "participation",
    }
)


def default_algorithm(version: int, model: ModelSettings, training: Section, codec: Section) -> str:
    """ "lbfgs" for a model of Hekat's where the job has no setting of local steps, of clipping or of bits, else fedavg.

    A job of format 1 means what it always meant.
    """
    is_plain = not (_OF_LOCAL_STEPS & set(training.remaining()) or codec.remaining() or model.parameters)
    return "lbfgs" if version > 1 and model.name in MODEL_NAMES and is_plain else TrainingSettings().algorithm


def default_rounds(algorithm: str, model: str) -> int:
    """The most rounds of a job that does not say how many."""
    if algorithm != "lbfgs":
        return TrainingSettings().round_count
    return NETWORK_ROUNDS if model in NETWORKS else LINE_SEARCH_ROUNDS


def default_value_bits(algorithm: str) -> int:
    """Bits of a value in a job that does not say how many."""
    return LINE_SEARCH_BITS if algorithm == "lbfgs" else CodecSettings().value_bits
