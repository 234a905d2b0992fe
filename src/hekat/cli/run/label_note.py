"""What a dry run says of labels that would be replaced."""

from __future__ import annotations

from hekat.job.vertical.columns_job import ColumnsSettings
from hekat.protocol.vertical.label_privacy import RandomisedResponse


def say_label_privacy(settings: ColumnsSettings) -> str:
    """A sentence with a blank before it; empty without label privacy."""
    if settings.label_privacy is None or settings.classes is None:
        return ""
    told = RandomisedResponse(settings.label_privacy, len(settings.classes)).describe()
    return f" {told[0].upper()}{told[1:]}."
