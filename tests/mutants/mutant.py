"""A single fault: where it stands, and which tests have to find it."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Mutant:
    """One fault. `file`: where it stands, then where it stood in older trees; `tests`: folders and files to find it.

    `keyword` chooses among these, as pytest's -k: an older tree has an item for each engine.
    """

    id: str
    file: list[str]
    sed: str
    tests: list[str]
    fault: str
    keyword: str

    def place(self, tree: Path) -> Path:
        """Its file in a tree. Raises FileNotFoundError where it is at none of its places."""
        for name in self.file:
            if (tree / name).is_file():
                return tree / name
        raise FileNotFoundError(f"{self.id}: none of {', '.join(self.file)} is in {tree}")

    def text(self, place: Path) -> str:
        """The file with the fault in it. Raises ValueError where nothing changes."""
        found = subprocess.run(["sed", "-E", self.sed, str(place)], capture_output=True, text=True, check=True).stdout
        if found == place.read_text():
            raise ValueError(f"{self.id}: {self.sed} changes nothing in {place}")
        return found


def read_mutants(folder: Path = HERE) -> list[Mutant]:
    """All mutants, from every mutants*.toml; raises ValueError where two have one name."""
    found = []
    for path in sorted(folder.glob("mutants*.toml")):
        for entry in tomllib.loads(path.read_text())["mutant"]:
            places = entry["file"] if isinstance(entry["file"], list) else [entry["file"]]
            found.append(
                Mutant(entry["id"], places, entry["sed"], entry["tests"], entry["fault"], entry.get("keyword", ""))
            )
    names = [mutant.id for mutant in found]
    if len(set(names)) != len(names):
        raise ValueError(f"two mutants of one name: {sorted({name for name in names if names.count(name) > 1})}")
    return found
