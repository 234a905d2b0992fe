"""A party's record of the draw of members, on disk: its word, all commitments, and the members that were drawn.

One file for each job, mode 600: `hekat members 1`, a line "job DIGEST", a line "word HEX", then, once all parties have
signed the same list, for each a line "commitment NAME HEX", in the end for each member a line "member NAME", and a
checksum. The word is drawn once for a job and every restart repeats it: a party that breaks a draw off gets no other.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hekat.atomic_file import overwrite_file, replace_file
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import ProtocolError, StateError
from hekat.protocol.secure_sum.masked.opening.member_draw import DIGEST_BYTES, WORD_BYTES
from hekat.state.checksum_line import with_checksum

MEMBER_FILES = "members-*.record"
_TITLE = "hekat members 1"


@dataclass(frozen=True)
class _Kept:
    word: bytes = field(repr=False)
    commitments: Mapping[str, bytes] = field(default_factory=dict)
    members: tuple[str, ...] = ()


class MemberRecord:
    """One party's record of one job's draw. Not `durable`: for a folder that nobody opens after this process."""

    def __init__(self, folder: Path, job_digest: bytes, *, durable: bool = True) -> None:
        self._path, self._job_digest = folder / MEMBER_FILES.replace("*", job_digest.hex()[:32]), job_digest
        self._write = replace_file if durable else overwrite_file

    def exists(self) -> bool:
        """Whether this party has begun to draw members for the job. Raises StateError."""
        with disk_errors_as_state_errors(f"{self._path} cannot be read"):
            return self._path.exists()

    def word(self) -> bytes:
        """This party's 32 random bytes for the job: drawn at the first call ever, on disk before they are returned.

        Raises StateError where the file is damaged or cannot be written.
        """
        if not self.exists():
            self._save(_Kept(secrets.token_bytes(WORD_BYTES)))
        return self._load().word

    def commitments(self) -> dict[str, bytes]:
        """The commitments that all parties had signed before this party revealed its word; empty until then."""
        return dict(self._load().commitments) if self.exists() else {}

    def members(self) -> tuple[str, ...]:
        """The members; none before the draw has ended."""
        return self._load().members if self.exists() else ()

    def settle(self, commitments: Mapping[str, bytes]) -> None:
        """Note durably, before the word is revealed, the commitments that all parties signed; they change no more.

        Raises ProtocolError where something else was noted before.
        """
        kept = self._load()
        if kept.commitments and dict(kept.commitments) != dict(commitments):
            raise ProtocolError("another draw was begun for this job", expected="the commitments of then", got="others")
        if not kept.commitments:
            self._save(replace(kept, commitments=dict(commitments)))

    def finish(self, members: Sequence[str]) -> None:
        """Note the members. Raises StateError where others were noted before."""
        kept = self._load()
        if kept.members and kept.members != tuple(members):
            raise self._damaged()
        if not kept.members:
            self._save(replace(kept, members=tuple(members)))

    def _save(self, kept: _Kept) -> None:
        self._write(self._path, self._encode(kept))

    def _load(self) -> _Kept:
        data = read_file(self._path)
        word, commitments, members = b"", {}, []
        try:
            for line in data.decode().split("\n")[2:-2]:
                kind, *rest = line.split(" ")
                if kind == "word":
                    word = bytes.fromhex(rest[0])
                elif kind == "commitment":
                    commitments[rest[0]] = bytes.fromhex(rest[1])
                else:
                    members.append(rest[0])
        except (ValueError, IndexError):
            raise self._damaged() from None
        kept = _Kept(word, commitments, tuple(members))
        is_whole = len(word) == WORD_BYTES and all(len(one) == DIGEST_BYTES for one in commitments.values())
        if not is_whole or self._encode(kept) != data:
            raise self._damaged()
        return kept

    def _encode(self, kept: _Kept) -> bytes:
        lines = [_TITLE, f"job {self._job_digest.hex()}", f"word {kept.word.hex()}"]
        lines += [f"commitment {name} {one.hex()}" for name, one in kept.commitments.items()]
        lines += [f"member {name}" for name in kept.members]
        return with_checksum("".join(f"{line}\n" for line in lines).encode())

    def _damaged(self) -> StateError:
        return StateError(
            f"the record of members {self._path} is damaged",
            expected="the file as it was written",
            got="something else",
            cure="put the folder back as the last run left it; else begin a new job, with another training.seed",
        )
