"""The top that a job names: a PyTorch module that the guest's site makes; hosts need none of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hekat.job.site_file import Site
from hekat.model.split import Top, TopMaker, TopTask, module_top
from hekat.run.vertical_network.own_module import SiteModule

_RETURNS: Final = "a torch.nn.Module that maps the interactive layer's units, before any activation, to outputs"


@dataclass(frozen=True)
class OwnTop:
    """What makes the guest's top, None for Hekat's own; and the SHA-256 (hex) of the site's file whose code does."""

    make: TopMaker | None = None
    code: str = ""


def find_top(site: Site, name: str | None, party: str, *, is_guest: bool) -> OwnTop:
    """The top of `party`, which the job gives a `name` at the guest; nothing is made yet. Raises as
    `SiteModule.find`."""
    if name is None or not is_guest:
        return OwnTop()
    module = SiteModule.find(site, party, name, returns=_RETURNS)

    def make(task: TopTask) -> Top:
        return module_top(module.maker(unit_count=task.units, output_count=task.output_count))(task)

    return OwnTop(make, module.function.code)
