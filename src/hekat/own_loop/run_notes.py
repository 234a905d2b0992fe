"""Caveats of a run, each said once, in its log and in its result."""

from __future__ import annotations

import logging
import threading

_log = logging.getLogger("hekat.own_loop")


class Notes:
    """The caveats so far, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.texts: list[str] = []

    def add(self, text: str) -> None:
        """Say a caveat unless it was said before."""
        with self._lock:
            if text in self.texts:
                return
            self.texts.append(text)
        _log.info(text)
