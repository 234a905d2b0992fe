"""The site: what is staged for the builder holds together, and the built pages need nothing from the network."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.documents.markdown import LINK, ROOT, anchors, without_blocks


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of docs_build by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "docs_build"))
    return importlib.import_module


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "docs"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs_build"))
        importlib.import_module("stage").stage(folder)
    return folder


@pytest.mark.long
def test_links_of_staged_pages_stay_in_the_site(staged: Path) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in staged.rglob("*.md")}
    broken = []
    for page, text in texts.items():
        for link in LINK.findall(without_blocks(text)):
            target, _, anchor = link.partition("#")
            path = page if not target else (page.parent / target).resolve()
            found = path.exists() and staged in (path, *path.parents)
            if not found or (anchor and anchor not in anchors(texts[path])):
                broken.append((page.relative_to(staged).as_posix(), link))
    assert broken == []


def test_every_page_has_a_place_in_the_navigation(staged: Path) -> None:
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    navigation = configuration.split("\nnav:")[1]
    listed = set(re.findall(r"[\w/-]+\.md", navigation))
    pages = {path.relative_to(staged).as_posix() for path in staged.rglob("*.md")}
    outside = {page for page in pages if re.match(r"decisions/0|examples/", page)}
    assert listed == pages - outside


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<script src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ('<link rel="stylesheet" href="//fonts.example/css">', ["//fonts.example/css"]),
        ('<link rel="stylesheet" href="assets/a.css"><img src="x.svg"><a href="https://example/">x</a>', []),
        ("<style>@import url(https://a.example/b.css)</style>", ["https://a.example/b.css"]),
    ],
)
def test_what_a_page_would_fetch_is_found(load: Any, html: str, found: list[str]) -> None:
    assert load("check_site").fetched_from_elsewhere(html) == found


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path: Path, load: Any) -> None:
    pytest.importorskip("mkdocs", reason="needs hekat[docs]")
    pytest.importorskip("mkdocstrings", reason="needs hekat[docs]")
    load("stage").stage()
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert load("check_site").problems(tmp_path / "site") == []
