"""The house rules that no linter knows: who may reach the native core, sizes of files, names that say something."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hekat"
FILES = sorted(
    [*SOURCE.rglob("*.py"), *(path for name in ("tests", "benchmarks") for path in (ROOT / name).rglob("*.py"))]
)
MOST_LINES = 500
MOST_FILES = 20
EMPTY_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "base"}
# A word that meant two things, or said too little, and what stands in its place as the name of a module, class,
# function or variable. Job files, files of runs and messages keep the spelling that they were born with.
RETIRED = {
    "crew": "pool",
    "crossing": "cross_products",
    "kept_products": "gram",
    "lattice_room": "bfv_capacity",
    "loss_notice": "dropout_notice",
    "LossNotice": "DropoutNotice",
    "named_timeout": "timeout_hint",
    "own_part": "local_trainer",
    "parts_of_time": "timing_labels",
    "patience_s": "aggregator_timeout_s",
    "Prepared": "HorizontalInputs",
    "Seat": "Role",
    "SealedRoles": "RoleSession",
    "witness": "exactness_check",
    "Witness": "ExactnessCheck",
}
# A pronoun or an inversion in place of a named subject, and how a sentence goes without it.
RETIRED_PHRASES = {
    "that of": "repeat the noun: the loss of the clear run",
    "those of": "repeat the noun: the rows of all parties",
    "of which": "begin with the thing itself: five of ten parties are dishonest",
    "of whom": "begin with the parties: two of them are members",
    "of whose": "begin with the thing itself",
    "who waits": "name it: the waiting party",
}
# Sources, comments of the native core and of kernels, and pages written by hand. Pages of measurements come from
# benchmarks/, and decisions stay as they were made.
PROSE = sorted(
    path
    for pattern in (
        "src/hekat/**/*.py",
        "src/hekat/**/*.md",
        "src/hekat/**/*.cu*",
        "native/src/**/*.?pp",
        "docs/**/*.md",
        "*.md",
    )
    for path in ROOT.glob(pattern)
    if path.name != "CHANGELOG.md" and not {"decisions", "measured"} & set(path.relative_to(ROOT).parts)
)


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(_tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@cache
def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _tree_of(path: Path) -> ast.Module:
    return ast.parse(_text_of(path))


def _names_in(path: Path) -> set[str]:
    """Every name that the file gives or imports: modules' last parts, classes, functions, arguments, variables."""
    names: set[str] = set()
    for node in ast.walk(_tree_of(path)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.name.rpartition(".")[2] for alias in node.names}
    return names


def test_only_the_cpu_engine_imports_the_native_core() -> None:
    importers = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "_native" in _text_of(path) and "hekat._native" in _imports(path)
    }
    assert importers == {"engine/cpu.py", "engine/ring/cpu.py"}


def test_files_stay_small() -> None:
    sizes = {path: len(_text_of(path).splitlines()) for path in FILES}
    assert {str(path.relative_to(ROOT)): size for path, size in sizes.items() if size > MOST_LINES} == {}


def test_folders_stay_small() -> None:
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in FILES)
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


def test_retired_words_name_nothing() -> None:
    words = re.compile(rf"\b({'|'.join(RETIRED)})\b")
    found = [
        f"{path.relative_to(ROOT)}: {name} (say {RETIRED[word[0]]})"
        for path in FILES
        # A file is parsed only where its text has such a word somewhere: a name is part of the text.
        for name in {path.stem, *(_names_in(path) if words.search(_text_of(path)) else ())}
        if (word := words.search(name))
    ]
    assert found == []


@pytest.mark.parametrize("source", ["def f(crew): pass", "class Seat: pass", "witness = 1", "import x.own_part"])
def test_a_retired_word_is_found(source: str, tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(source)
    assert _names_in(tmp_path / "some.py") & RETIRED.keys()


def _retired_phrases_in(text: str) -> list[str]:
    """The retired phrases of a text, also across the lines of a comment, a docstring or a string in parts."""
    lines = re.sub(r"""["']?\s*\n\s*(?:[#>]+|//+|f?["'])?""", " ", text)
    flowing = " ".join(lines.split())
    return re.findall(rf"\b({'|'.join(RETIRED_PHRASES)})\b", flowing, re.IGNORECASE)


def test_sentences_name_their_subject() -> None:
    found = [
        f"{path.relative_to(ROOT)}: '{phrase}' ({RETIRED_PHRASES[phrase.lower()]})"
        for path in PROSE
        for phrase in _retired_phrases_in(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "# the loss is that of the clear run",
        '    """The rows are those\n    of all parties."""',
        "// ten parties, of\n// which five lie",
        'f"five, of whom " f"two are members"',
        'x = ("a committee that "\n     "knows whom; those "\n     f"of {name}")',
        "The hub knows who waits for whom.",
    ],
)
def test_a_retired_phrase_is_found(text: str) -> None:
    assert len(_retired_phrases_in(text)) == 1


@pytest.mark.parametrize("text", ["each of the parties that open it", "those who open sums", "a sum of what they sent"])
def test_other_sentences_pass(text: str) -> None:
    assert _retired_phrases_in(text) == []


def test_names_say_something() -> None:
    assert {path.stem for path in SOURCE.rglob("*")} & EMPTY_NAMES == set()


def test_every_file_opens_with_its_duty() -> None:
    silent = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if not re.match(r'r?"""[^"\s]', _text_of(path)) and not ast.get_docstring(_tree_of(path))
    ]
    assert silent == []
