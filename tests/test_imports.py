"""Every launcher, job loader, run and command can be imported, and every name of a module that stands in a text is one.

Type checks follow imports; they do not follow texts, such as the paths of classes that NVIDIA FLARE loads by name, nor
what a module does when it is imported.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import hekat

SOURCE = Path(hekat.__file__).parent
PACKAGES = ("hekat.cli", "hekat.job", "hekat.launch", "hekat.run", "hekat.cost", "hekat.summary", "hekat.report")
DOTTED = re.compile(r"hekat(\.[A-Za-z_]\w*)+")
# A source without it holds no such text: to parse all sources takes long.
QUOTED = re.compile(r"[\"']hekat\.")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_can_be_imported(package: str) -> None:
    found = importlib.import_module(package)
    names = [one.name for one in pkgutil.walk_packages(found.__path__, f"{package}.")]
    assert names
    for name in names:
        if name.endswith("__main__"):
            continue
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if is_own(error):
                raise


def is_own(error: ModuleNotFoundError) -> bool:
    """Whether a module of Hekat is missing, and not an extra that is not installed."""
    return error.name is None or error.name.split(".")[0] == "hekat"


def dotted_texts() -> list[tuple[str, str]]:
    """Texts of the source, docstrings apart, that name something below a package of Hekat, with their file."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        source = path.read_text()
        if not QUOTED.search(source):
            continue
        tree = ast.parse(source)
        prose = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
        for one in ast.walk(tree):
            is_text = isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in prose
            if is_text and DOTTED.fullmatch(one.value) and (SOURCE / one.value.split(".")[1]).is_dir():
                found.add((str(path.relative_to(SOURCE)), one.value))
    return sorted(found)


def exists(name: str) -> bool:
    """Whether `name` is a module, or a module and something in it."""
    try:
        if importlib.util.find_spec(name) is not None:
            return True
    except ModuleNotFoundError:
        pass
    module, _, attribute = name.rpartition(".")
    if not module or importlib.util.find_spec(module) is None:
        return False
    return hasattr(importlib.import_module(module), attribute)


def test_names_of_modules_in_texts_exist() -> None:
    texts = dotted_texts()
    assert any(name.startswith("hekat.launch") for _, name in texts)
    missing = []
    for file, name in texts:
        try:
            if not exists(name):
                missing.append((file, name))
        except ModuleNotFoundError as error:
            if is_own(error):
                missing.append((file, name))
    assert not missing
