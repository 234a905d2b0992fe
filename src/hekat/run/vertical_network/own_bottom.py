"""The bottom that a job names for a party: a fixed map of Hekat's, or a PyTorch module that the party's site makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hekat.job.site_file import Site
from hekat.job.vertical_network.job_file import OWN_BOTTOMS
from hekat.model.split import Bottom, BottomMaker, BottomTask, module_bottom, principal_components, random_features
from hekat.run.vertical_network.own_module import SiteModule

_MAPS: Final[Mapping[str, BottomMaker]] = dict(zip(OWN_BOTTOMS, (random_features, principal_components), strict=True))
_RETURNS: Final = "a torch.nn.Module that maps rows of the party's columns to the interactive layer's inputs"


@dataclass(frozen=True)
class OwnBottom:
    """What makes a party's bottom, None for the usual one; and the SHA-256 (hex) of the site's file whose code does."""

    make: BottomMaker | None = None
    code: str = ""


def find_bottom(site: Site, bottoms: Mapping[str, str], party: str) -> OwnBottom:
    """The bottom of `party`, which `bottoms` name by party; nothing is made yet. Raises as `SiteModule.find`."""
    name = bottoms.get(party)
    if name is None:
        return OwnBottom()
    if name in _MAPS:
        return OwnBottom(_MAPS[name])
    module = SiteModule.find(site, party, name, returns=_RETURNS, hekats=OWN_BOTTOMS)

    def make(task: BottomTask) -> Bottom:
        return module_bottom(module.maker(column_count=task.column_count, output_count=task.width))(task)

    return OwnBottom(make, module.function.code)
