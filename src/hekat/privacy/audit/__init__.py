"""Whether noise is there: what a run tells about canaries bounds epsilon from below, and opened zeros show variance."""

from hekat.privacy.audit.level_canaries import LevelCanaries
from hekat.privacy.audit.lower_bound import Audit, audit_scores, epsilon_at_least
from hekat.privacy.audit.noise_measure import NoiseMeasure, measure_noise

__all__ = ["Audit", "LevelCanaries", "NoiseMeasure", "audit_scores", "epsilon_at_least", "measure_noise"]
