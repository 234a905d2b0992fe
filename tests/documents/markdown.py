"""Reads the Markdown files of the repository: blocks, spans, headings, links, rows of tables."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(path for pattern in ("*.md", "docs/**/*.md", "src/**/*.md") for path in ROOT.glob(pattern))
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCUMENTS}

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")


def blocks(text: str, language: str) -> list[str]:
    """What stands in fences of this language."""
    return [match["body"] for match in FENCE.finditer(text) if match["language"] == language]


def without_blocks(text: str) -> str:
    return FENCE.sub("", text)


def spans(text: str) -> list[str]:
    """What stands in backticks outside of blocks."""
    return CODE.findall(without_blocks(text))


def command_lines(text: str) -> list[str]:
    """What a reader may type: spans, and the lines of shell blocks."""
    return [*spans(text), *(line.strip() for line in "\n".join(blocks(text, "sh")).splitlines())]


def anchors(text: str) -> set[str]:
    """The anchors that a forge, and the site, give to the headings."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(text), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def table_rows(text: str) -> list[list[str]]:
    """The cells of every row of a table, heads among them."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
