"""A PyTorch module that a job names and a site makes: its function, found by name, and its code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hekat.data.sources.site_function import SiteFunction, load_function
from hekat.errors import InputError
from hekat.job.model_source import find_model_source
from hekat.job.site_file import Site


@dataclass(frozen=True)
class SiteModule:
    """A function of a site, with the arguments that its site file gives it."""

    function: SiteFunction
    arguments: Mapping[str, Any]

    @classmethod
    def find(cls, site: Site, party: str, name: str, *, returns: str, hekats: Sequence[str] = ()) -> SiteModule:
        """What `party` calls `name`; nothing is made yet. `returns` says in words what the function has to return.

        Raises JobError where the site has no such model, with `hekats`, names that need none; InputError for a function
        that cannot be found.
        """
        held = site.parties.get(party)
        source = find_model_source({} if held is None else held.models, site.common_models, name, hekats=hekats)
        return cls(load_function(source.function, site.folder, returns=returns, example="net:build"), source.arguments)

    def maker(self, **sizes: int) -> Callable[[], Any]:
        """What makes the module; of `sizes` it gives what the function declares and the site file does not say."""
        taken = {name: size for name, size in sizes.items() if self.function.takes(name) and name not in self.arguments}
        return lambda: self.function.call({**self.arguments, **taken})


def check_same_code(what: str, code: str, trained_with: str) -> None:
    """Raise InputError where `what`, a part of a model, is to predict with other code than it was trained with."""
    if code != trained_with:
        raise InputError(
            f"{what} is not the code it was trained with",
            expected=f"a file of SHA-256 {trained_with[:16]}..." if trained_with else "no code of the site's own",
            got=f"SHA-256 {code[:16]}..." if code else "none",
            cure="give the file as it was, byte for byte",
        )
