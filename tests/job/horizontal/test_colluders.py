"""How many may work with the aggregator: the same in a job, in a report and in docs/explanation/security.md."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hekat.job.agreed_terms import _noise_of, _opening_of
from hekat.job.horizontal.colluders import colluders_borne
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings
from hekat.summary.horizontal.caveats import _what_noise_leaves
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


@pytest.mark.parametrize(("party_count", "is_beyond"), [(3, False), (6, False), (7, True), (10, True), (100, True)])
def test_reports_say_where_noise_bears_more_parties_than_the_opening_of_sums(party_count: int, is_beyond: bool) -> None:
    settings = settings_of(party_count)
    privacy = PrivacySettings(unit="row", clip=1.0, delta=1e-6, noise=1.0, divisor=100)
    assert any("work with the aggregator" in note for note in _what_noise_leaves(settings, privacy)) is is_beyond
    alone = replace(privacy, colluders=1)
    assert not any("work with the aggregator" in note for note in _what_noise_leaves(settings, alone))


def test_who_approves_a_job_reads_what_its_noise_promises() -> None:
    privacy = PrivacySettings(unit="row", clip=0.5, delta=1e-6, noise=1.25, divisor=100)
    assert _noise_of(settings_of(10), privacy) == (
        "of each row (zero-out): noise z = 1.25, clip 0.5, delta 1e-06, against 5 parties together"
    )
    wanted = replace(privacy, noise=None, epsilon=3.0, colluders=1)
    assert _noise_of(settings_of(3), wanted) == (
        "of each row (zero-out): epsilon 3 over all rounds, clip 0.5, delta 1e-06, against each party by itself"
    )


@pytest.mark.parametrize(
    ("party_count", "participation", "expected"), [(5, 0.6, 1), (7, 0.45, 1), (10, 0.3, 1), (10, 0.5, 2)]
)
def test_a_sample_bears_what_the_row_of_its_size_says(party_count: int, participation: float, expected: int) -> None:
    settings = settings_of(party_count, participation)
    assert colluders_borne(settings.sums)[0] == expected == documented()[settings.sample_size][0]
    ending = f"up to {expected} {'party' if expected == 1 else 'parties'}"
    assert _opening_of(settings.sums).endswith(ending)
    assert who_opens(settings).endswith(ending)
