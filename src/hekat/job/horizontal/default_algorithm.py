"""Which algorithm a job has that names none, and the defaults that depend on the algorithm."""

from __future__ import annotations

from hekat.job.section import Section
from hekat.model import LINEAR_MODELS
from hekat.protocol.horizontal.settings import ModelSettings, TrainingSettings
from hekat.protocol.secure_sum.settings import CodecSettings

# Rounds after which a line search ends at the latest; it settles well before on most tables.
LINE_SEARCH_ROUNDS = 100
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
        "participation",
    }
)


def default_algorithm(version: int, model: ModelSettings, training: Section, codec: Section) -> str:
    """ "lbfgs" for a linear model where the job has no setting of local steps, of clipping or of bits; else "fedavg".

    A job of format 1 means what it always meant.
    """
    is_plain = not (_OF_LOCAL_STEPS & set(training.remaining()) or codec.remaining() or model.parameters)
    return "lbfgs" if version > 1 and model.name in LINEAR_MODELS and is_plain else TrainingSettings().algorithm


def default_rounds(algorithm: str) -> int:
    """The most rounds of a job that does not say how many."""
    return LINE_SEARCH_ROUNDS if algorithm == "lbfgs" else TrainingSettings().round_count


def default_value_bits(algorithm: str) -> int:
    """Bits of a value in a job that does not say how many."""
    return LINE_SEARCH_BITS if algorithm == "lbfgs" else CodecSettings().value_bits
