"""What a party of `hekat attack` sends of its rows, as the options say."""

from __future__ import annotations

import argparse

from hekat.privacy.attacks.inversion import ONE_GRADIENT
from hekat.privacy.attacks.sent_update import LocalSteps, SentUpdate


def sent_update(options: argparse.Namespace) -> SentUpdate:
    """One gradient, or the difference after local steps."""
    if options.local_steps is None:
        return ONE_GRADIENT
    return LocalSteps(options.local_steps, options.learning_rate)
