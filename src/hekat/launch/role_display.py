"""What shows a role that plays alone at its site, where the site file asks: the live page, which lies above launchers.

`hekat.nvflare`, `hekat.flower` and `hekat party` bring it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hekat.errors import JobError

if TYPE_CHECKING:
    from hekat.job.load_any_job import AnyJob
    from hekat.job.site_file import Site
    from hekat.run.progress import Progress


@dataclass(frozen=True)
class ShownRole:
    """The role, and the folder in which its run's folder is made."""

    job: AnyJob
    site: Site
    role: str
    run_id: str
    runs: Path


Page = Callable[[ShownRole], AbstractContextManager["Progress"]]
_brought: list[Page] = []


def bring_page(page: Page) -> None:
    """Have `page` show roles from now on: a block in which it is told of the role that plays."""
    _brought[:] = [page]


@contextmanager
def displayed(shown: ShownRole) -> Iterator[Progress]:
    """The page, in the block, if the role's own site asks for it; no job can. Raises what the page raises before."""
    from hekat.run.progress import Silence

    if shown.site.live is None:
        yield Silence()
        return
    if not _brought:
        raise JobError(
            "the site file asks for a live page, and nothing here serves it",
            expected="a role of hekat.nvflare, hekat.flower or hekat party",
            got="another launcher",
            cure="hekat run --live shows the roles of one machine; or leave [live] out",
        )
    with _brought[0](shown) as progress:
        yield progress
