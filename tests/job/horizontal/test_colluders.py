"""How many may work with the aggregator: the same in a job, in a report and in docs/explanation/security.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hekat.job.agreed_terms import _opening_of
from hekat.job.horizontal.colluders import colluders_borne
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings
from hekat.summary.horizontal.caveats_on_sums import who_opens

SECURITY = (Path(__file__).parents[3] / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")


def settings_of(party_count: int, participation: float = 1.0) -> HorizontalSettings:
    return HorizontalSettings(
        parties=tuple(f"p{number}" for number in range(party_count)),
        aggregator="hub",
        classes=("no", "yes"),
        weight_max=10,
        training=TrainingSettings(participation=participation),
    )


def documented() -> dict[int, tuple[int, int]]:
    """From the table: by the count of parties, parties in all and members of them."""
    found = {}
    section = SECURITY.split("## How many may work together")[1].split("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0].isdecimal():
            count, *members = map(int, re.findall(r"\d+", cells[-1]))
            found[int(cells[0])] = (count, members[0] if members else count)
    return found


@pytest.mark.parametrize("party_count", [*range(3, 11), 100])
def test_terms_and_notes_say_what_the_table_says(party_count: int) -> None:
    # 8 and 9 parties have no row of their own: seven members, and u_min = ceil(2P / 3) of 6.
    parties, members = (documented() | {8: (4, 2), 9: (4, 2)})[party_count]
    settings = settings_of(party_count)
    assert colluders_borne(settings.sums) == (parties, members)
    said = f"the aggregator together with up to {parties} {'party' if parties == 1 else 'parties'}"
    said += "" if members == parties else f", up to {members} of them members"
    assert _opening_of(settings.sums).endswith(said)
    assert who_opens(settings).endswith(said)


@pytest.mark.parametrize(
    ("party_count", "participation", "expected"), [(5, 0.6, 1), (7, 0.45, 1), (10, 0.3, 1), (10, 0.5, 2)]
)
def test_a_sample_bears_what_the_row_of_its_size_says(party_count: int, participation: float, expected: int) -> None:
    settings = settings_of(party_count, participation)
    assert colluders_borne(settings.sums)[0] == expected == documented()[settings.sample_size][0]
    ending = f"up to {expected} {'party' if expected == 1 else 'parties'}"
    assert _opening_of(settings.sums).endswith(ending)
    assert who_opens(settings).endswith(ending)
