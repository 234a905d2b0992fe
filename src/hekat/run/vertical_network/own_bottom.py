"""The bottom that a job names for a party: a fixed map of Hekat's, or a PyTorch module that the party's site makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hekat.data.sources.site_function import load_function
from hekat.errors import InputError
from hekat.job.model_source import find_model_source
from hekat.job.site_file import Site
from hekat.job.vertical_network.job_file import OWN_BOTTOMS
from hekat.model.split import Bottom, BottomMaker, BottomTask, module_bottom, principal_components, random_features

_MAPS: Final[Mapping[str, BottomMaker]] = dict(zip(OWN_BOTTOMS, (random_features, principal_components), strict=True))
_RETURNS: Final = "a torch.nn.Module that maps rows of the party's columns to the interactive layer's inputs"


@dataclass(frozen=True)
class OwnBottom:
    """What makes a party's bottom, None for the usual one; and the SHA-256 (hex) of the site's file whose code does."""

    make: BottomMaker | None = None
    code: str = ""


def find_bottom(site: Site, bottoms: Mapping[str, str], party: str) -> OwnBottom:
    """The bottom of `party`, which `bottoms` name by party; nothing is made yet. Raises JobError where the site has no
    such model, InputError for a function that cannot be found."""
    name = bottoms.get(party)
    if name is None:
        return OwnBottom()
    if name in _MAPS:
        return OwnBottom(_MAPS[name])
    held = site.parties.get(party)
    source = find_model_source({} if held is None else held.models, site.common_models, name, hekats=OWN_BOTTOMS)
    function = load_function(source.function, site.folder, returns=_RETURNS, example="net:build")

    def make(task: BottomTask) -> Bottom:
        offered = {"column_count": task.column_count, "output_count": task.width}
        taken: dict[str, Any] = {
            key: value for key, value in offered.items() if function.takes(key) and key not in source.arguments
        }
        return module_bottom(lambda: function.call({**source.arguments, **taken}))(task)

    return OwnBottom(make, function.code)


def check_same_code(party: str, found: OwnBottom, trained_with: str) -> None:
    """Raise InputError where a part of a model is to predict with other code than it was trained with."""
    if found.code != trained_with:
        raise InputError(
            f"the bottom of {party} is not the code it was trained with",
            expected=f"a file of SHA-256 {trained_with[:16]}..." if trained_with else "no code of the site's own",
            got=f"SHA-256 {found.code[:16]}..." if found.code else "none",
            cure="give the file as it was, byte for byte",
        )
