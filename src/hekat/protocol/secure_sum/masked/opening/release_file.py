"""The file of a release record: its lines, read and written as a whole.

`hekat releases 2`: an entry a line, then a checksum. Keys and digests are in hex.

| line | says |
|---|---|
| `group KEY DIGEST NAME...` | once a group of a job: the digest of the parties in the set, the names of the others |
| `number KEY DIGEST` | once an upload number of a session: the digest of the whole statement |
| `key DIGEST` | at most once: which rows key the following lines are under |
| `rows KEY DIGEST JOB PARTY...` | for a group of rows: as `group`, with a digest of the job; once a set and job |
| `parties KEY DIGEST PARTY...` | for rows: the digest of a job's parties, and these; once for each job's |

NAME is what the job calls a party. PARTY is the same in every job: its key, or its name where the job has no keys.

`hekat releases 1`, which older releases wrote, has the first two kinds alone. It is read; what is written is 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from hekat.digest_text import is_digest
from hekat.errors import StateError
from hekat.state.checksum_line import with_checksum

_TITLE = "hekat releases"
Entry = tuple[str, ...]
"""A digest, then names."""


@dataclass(frozen=True)
class Releases:
    """All entries: `single` by "group KEY" and "number KEY", `several` by "rows KEY" and "parties KEY".

    `key_digest` tells which rows key the latter are under; empty where there are none.
    """

    single: dict[str, Entry] = field(default_factory=dict)
    several: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    key_digest: str = ""

    def with_single(self, entries: dict[str, Entry]) -> Releases:
        """With these, each in the place of one of its key."""
        return replace(self, single={**self.single, **entries})

    def with_several(self, entries: dict[str, Entry], key_digest: str) -> Releases:
        """With these beside those that are there."""
        added = {
            key: known if entry in (known := self.several.get(key, ())) else (*known, entry)
            for key, entry in entries.items()
        }
        return replace(self, several={**self.several, **added}, key_digest=key_digest)


def encode_releases(releases: Releases) -> bytes:
    """The file's bytes."""
    lines = [f"{_TITLE} 2"]
    lines += [" ".join((key, *entry)) for key, entry in releases.single.items()]
    lines += [f"key {releases.key_digest}"] if releases.key_digest else []
    lines += [" ".join((key, *entry)) for key, entries in releases.several.items() for entry in entries]
    return _with_checksum(lines)


def decode_releases(data: bytes, path: Path) -> Releases:
    """What `encode_releases`, or an older release, wrote. Raises StateError, naming `path`, for anything else."""
    try:
        title, *lines = data.decode().split("\n")[:-2]
        releases = _read_lines(title, lines)
        whole = _with_checksum([title, *lines]) == data
    except (ValueError, KeyError):
        whole, releases = False, Releases()
    if not whole:
        raise StateError(
            f"release record {path} is damaged",
            expected="the file as it was written",
            got=f"{len(data)} bytes that do not hold together",
            cure="put it back as it was last written: without it nobody knows what was opened of these rows, and "
            "nothing more may be",
        )
    return releases


def _read_lines(title: str, lines: list[str]) -> Releases:
    """Raises ValueError or KeyError for what no release writes."""
    known = {f"{_TITLE} 1": ("group", "number"), f"{_TITLE} 2": ("group", "number", "key", "rows", "parties")}[title]
    releases = Releases()
    for line in lines:
        kind, first, *rest = line.split(" ")
        if kind not in known or not all(is_digest(text) for text in (first, *rest[:1])) or "" in rest:
            raise ValueError
        if kind == "key":
            if rest or releases.key_digest:
                raise ValueError
            releases = replace(releases, key_digest=first)
        else:
            _add(releases, kind, f"{kind} {first}", tuple(rest))
    return releases


def _add(releases: Releases, kind: str, key: str, entry: Entry) -> None:
    is_single = kind in ("group", "number")
    repeats = key in releases.single if is_single else entry in releases.several.get(key, ())
    if not entry or repeats or (kind == "number" and len(entry) > 1) or (not is_single and not releases.key_digest):
        raise ValueError
    if kind == "rows" and not (len(entry) > 1 and is_digest(entry[1])):
        raise ValueError
    if is_single:
        releases.single[key] = entry
    else:
        releases.several[key] = (*releases.several.get(key, ()), entry)


def _with_checksum(lines: list[str]) -> bytes:
    return with_checksum("".join(f"{line}\n" for line in lines).encode())
