"""A site's allow list where the site has none of its own: the installed engine's."""

from __future__ import annotations

import os
from pathlib import Path

from nvflare.app_common.default_component_policy import DEFAULT_CLASS_ALLOW_LIST

from hekat.launch.nvflare.allow_list import add_to_allow_list


def allow_hekat(local: str | os.PathLike[str]) -> None:
    """Let jobs have Hekat's components at the site whose start-up kit has the folder `local`.

    Writes resources.json with "hekat." in class_allow_list beside what the site allows already. Raises StateError.
    """
    add_to_allow_list(Path(local), list(DEFAULT_CLASS_ALLOW_LIST))
