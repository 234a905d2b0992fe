"""What a courier sees at the desk around a failure of the engine's code."""

from __future__ import annotations

import pytest

from hekat.launch.flower.desk import Desk, TrainingFailedError


@pytest.mark.parametrize("wait", [lambda desk: desk.wait_for_start(), lambda desk: desk.wait_for_update(1)])
def test_once_the_code_has_failed_the_loop_wants_nothing_more(wait) -> None:
    """Also before the loop has woken: the server would hear that the party can train, and lose it for not doing so."""
    seen: list[tuple[int, bool]] = []

    def look() -> None:
        seen.append((desk.wanted, desk.is_paused))
        desk.fail("ValueError")
        seen.append((desk.wanted, desk.is_paused))

    desk = Desk(2, look)
    for _ in range(2):
        with pytest.raises(TrainingFailedError):
            wait(desk)
    assert seen[0][1]
    assert seen[1:] == [(0, False)] * 3
