"""A site's allow list where the site has none of its own: the installed engine's."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from nvflare.app_common.default_component_policy import DEFAULT_CLASS_ALLOW_LIST

from hekat.launch.nvflare.allow_list import ALLOW_LIST, add_to_allow_list


def allow_hekat(local: str | os.PathLike[str]) -> None:
    """Let jobs have Hekat's components at the site whose start-up kit has the folder `local`.

    Writes resources.json with each of these classes in class_allow_list beside what the site allows already. Wider
    entries, as "hekat." or "*", let a job call any function of Hekat: they are taken out with a warning, "*" for the
    engine's own list. Raises StateError.
    """
    removed = add_to_allow_list(Path(local), list(DEFAULT_CLASS_ALLOW_LIST))
    if removed:
        warnings.warn(
            f"{ALLOW_LIST} in {os.fspath(local)} had {', '.join(map(repr, removed))}, by which a job may call any "
            "function of Hekat; Hekat's components stand there instead, by name",
            stacklevel=2,
        )
