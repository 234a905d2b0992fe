"""Looks through a built site for what a browser would fetch from elsewhere: scripts, styles, fonts, images, frames."""

from __future__ import annotations

import re
import sys
from pathlib import Path

SITE = Path(__file__).parents[1] / "build" / "site"
_TAGS = re.compile(r"<(?:script|link|img|iframe|source|object|embed)\b[^>]*>", re.IGNORECASE)
_ELSEWHERE = re.compile(r"(?:src|href|srcset|data)\s*=\s*[\"']?((?:https?:)?//[^\"'\s>]+)", re.IGNORECASE)
_STYLE = re.compile(r"(?:@import\s+(?:url\()?|url\()\s*[\"']?((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)
# Where a page says that it is itself, which no browser fetches.
_NOT_FETCHED = re.compile(r"rel\s*=\s*[\"']?(?:canonical|alternate|next|prev)", re.IGNORECASE)


def fetched_from_elsewhere(text: str) -> list[str]:
    """Addresses of other hosts that a page or style sheet makes a browser fetch; links to follow are none."""
    tags = [tag for tag in _TAGS.findall(text) if not _NOT_FETCHED.search(tag)]
    return [*(found for tag in tags for found in _ELSEWHERE.findall(tag)), *_STYLE.findall(text)]


def problems(site: Path = SITE) -> list[str]:
    """Every page and style sheet that would fetch something, with what; and a site without pages."""
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css")]
    found = [
        f"{path.relative_to(site)}: {address}"
        for path in files
        for address in fetched_from_elsewhere(path.read_text(encoding="utf-8"))
    ]
    return found if files else ["there is no page"]


def main() -> int:
    found = problems()
    for line in found:
        print(f"fetched from elsewhere: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
