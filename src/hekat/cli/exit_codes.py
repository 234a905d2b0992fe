"""The exit codes of the commands: each by name, with its meaning and what to do."""

from __future__ import annotations

from enum import IntEnum

from hekat.errors import DIVERGED_EXIT_CODE, HekatError


class ExitCode(IntEnum):
    """The exit codes of `hekat`; the documentation quotes each code's `meaning` and `cure`."""

    meaning: str
    cure: str

    def __new__(cls, code: int, meaning: str, cure: str) -> ExitCode:
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning, member.cure = meaning, cure
        return member

    DONE = 0, "done; also where a party dropped out and the others finished", ""
    NOT_WHOLE = (
        1,
        "`hekat audit` found ledgers that disagree, are missing, or are not signed",
        "ask both sides for their files",
    )
    REFUSED = (
        HekatError.exit_code,
        "refused or failed; `error`, `expected`, `got` and `cure` say why",
        "do what `cure` says",
    )
    DIVERGED = (
        DIVERGED_EXIT_CODE,
        "the run is finished, and its training diverged: its files are there, and its model is of no use",
        "lower `training.learning_rate`, or look for cells of another unit, and begin a new run",
    )
    INTERRUPTED = 130, "interrupted by Ctrl-C", "`--resume` goes on, where a checkpoint was saved"
