"""Roles that hold another job, or another release, find out before the run begins."""

from __future__ import annotations

import pytest

from hekat.errors import JobError
from hekat.launch.role_card import RoleCard

MINE = RoleCard("ab" * 32, "1.0.0")


def test_a_card_is_read_as_it_was_shown() -> None:
    MINE.check_shown("lake", MINE.encode())
    assert RoleCard.of(b"\xab" * 32).job == MINE.job


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        (RoleCard("cd" * 32, "1.0.0").encode(), "another job"),
        (RoleCard("ab" * 32, "1.0.1").encode(), "another release"),
        (b"", "another release"),
        (b"[]", "another release"),
        (b'{"job": 1}', "another release"),
        (b"\xff", "another release"),
    ],
)
def test_another_card_is_refused_by_the_roles_name(shown: bytes, told: str) -> None:
    with pytest.raises(JobError, match=f"'lake'.*{told}"):
        MINE.check_shown("lake", shown)
