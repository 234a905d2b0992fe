"""Copies every page of the site into one folder for the builder, with links to what lies outside of docs/ made pages.

The pages in docs/ read well as files, so their links lead to files of the repository: SECURITY.md, examples, sources.
The builder knows one folder alone. So the root's documents, and those beside the code, become pages, a linked example
becomes a page with its text, and any other path of the repository loses its link and keeps its name.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from refusal_page import render_refusals

ROOT = Path(__file__).parents[1]
STAGED = ROOT / "build" / "docs"
ROOT_PAGES = {
    "SECURITY.md": "explanation/security_in_full.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
}
# Maps of protocols lie beside their code.
PROTOCOLS = ROOT / "src" / "hekat" / "protocol"
ROOT_PAGES |= {
    page.relative_to(ROOT).as_posix(): "explanation/code/" + "_".join(page.parent.relative_to(PROTOCOLS).parts) + ".md"
    for page in sorted(PROTOCOLS.rglob("README.md"))
}
SHOWN_AS_TEXT = {".py": "python", ".toml": "toml", ".ipynb": "json"}
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]*)\)")


def stage(folder: Path = STAGED) -> None:
    """Fill `folder` anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    pages = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "docs").rglob("*.md")}
    pages |= {name: ROOT / name for name in ROOT_PAGES}
    examples: set[str] = set()
    for name, path in pages.items():
        target = folder / staged_name(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(rewritten(path.read_text(encoding="utf-8"), name, examples), encoding="utf-8")
    for example in sorted(examples):
        _write_example(example, folder / staged_name(example))
    (folder / "reference" / "refusals.md").write_text(render_refusals(), encoding="utf-8")


def staged_name(name: str) -> str:
    """Where a file of the repository lies in the site, relative to its root; its own name where it is no page."""
    if name in ROOT_PAGES:
        return ROOT_PAGES[name]
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    return f"{name}.md" if Path(name).suffix in SHOWN_AS_TEXT else name


def rewritten(text: str, name: str, examples: set[str]) -> str:
    """The page with links of the site; examples that it links to are added to `examples`."""
    parts = _FENCED.split(text)
    return "".join(part if part.startswith("```") else _with_links(part, name, examples) for part in parts)


def _with_links(text: str, name: str, examples: set[str]) -> str:
    def replace(match: re.Match[str]) -> str:
        bang, label, link = match.groups()
        target, _, anchor = link.partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = os.path.normpath(Path(name).parent / target)
        if (ROOT / path).is_dir():
            index = f"{path}/index.md"
            if not (ROOT / index).exists():
                return label
            path = index
        if path.startswith("examples/") and Path(path).suffix in SHOWN_AS_TEXT:
            examples.add(path)
        elif not path.startswith("docs/") and path not in ROOT_PAGES:
            return label
        relative = os.path.relpath(staged_name(path), Path(staged_name(name)).parent)
        return f"{bang}[{label}]({relative}{'#' + anchor if anchor else ''})"

    return _LINK.sub(replace, text)


def _write_example(name: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    text = (ROOT / name).read_text(encoding="utf-8")
    fence = SHOWN_AS_TEXT[Path(name).suffix]
    target.write_text(f"# {name}\n\n```{fence}\n{text}```\n", encoding="utf-8")


if __name__ == "__main__":
    stage()
