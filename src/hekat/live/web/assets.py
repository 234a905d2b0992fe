"""The page's own files, read once: a path in a request is a key in this table and never a path on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from hekat.report.page.style import STYLE

_TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_SCRIPTS = ("live.js", "stream.js", "draw.js", "format.js", "parts.js")


@dataclass(frozen=True)
class Asset:
    """A file of the page as it is sent."""

    data: bytes
    media_type: str


@cache
def load_assets() -> dict[str, Asset]:
    """The page's files by path of a request. The style is the report's, then what only this page has."""
    page = files("hekat.live") / "page"
    read = {
        name: (page / name).read_text(encoding="utf-8") for name in ("index.html", "live.css", "icon.svg", *_SCRIPTS)
    }
    assets = {f"/{name}": Asset(text.encode(), _TYPES.get(name.rpartition(".")[2], "")) for name, text in read.items()}
    assets["/"] = assets.pop("/index.html")
    assets["/live.css"] = Asset(f"{STYLE}{read['live.css']}".encode(), _TYPES["css"])
    assets["/icon.svg"] = Asset(read["icon.svg"].encode(), "image/svg+xml")
    return assets
