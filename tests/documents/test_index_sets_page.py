"""What docs/spec/index-sets.md says of the values that are sent: its example, its ways, its numbers, its refusals."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import Any, get_args

import pytest
from tests.documents.markdown import CODE, TEXTS

from hekat.errors import InputError
from hekat.privacy import MaskRules
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.protocol.horizontal.selective_settings import SelectiveSettings
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings
from hekat.protocol.secure_sum.index_sets.agree import DECAY, RANDOM_SHARE, kept_count
from hekat.protocol.secure_sum.index_sets.settings import KeepBy
from hekat.protocol.secure_sum.index_sets.shared_draw import draw_subset, seed_of
from hekat.protocol.secure_sum.index_sets.votes import BLOCK_VALUES, digits_of, votes_step, wanted_blocks
from hekat.protocol.secure_sum.settings import CodecSettings

PAGE = TEXTS["docs/spec/index-sets.md"]
WORDS = " ".join(PAGE.split())
KEPT = TrainingSettings(keep=0.3)
JOB = HorizontalSettings(("a", "b", "c", "d", "e"), "hub", ("no", "yes"), weight_max=10, training=KEPT)
ROWS = PrivacySettings(unit="row", clip=1.0, delta=1e-6, noise=1.0, divisor=100)
# By the first cell of a row under "Refused".
REFUSED: dict[str, list[dict[str, Any]]] = {
    'keep_by = "union"': [{"training": replace(KEPT, keep_by="union")}],  # type: ignore[arg-type]
    'keep_by = "own"': [{"training": replace(KEPT, keep_by="own")}],  # type: ignore[arg-type]
    'codec.rounding = "stochastic"': [{"codec": CodecSettings(rounding="stochastic")}],
    'codec.clipping = "daciq"': [{"codec": CodecSettings(clipping="daciq")}],
    'algorithm = "scaffold"': [{"training": replace(KEPT, algorithm=name)} for name in ("scaffold", "lbfgs")],  # type: ignore[arg-type]
    "protection.masked": [{"selective": SelectiveSettings(MaskRules(0.5))}],
    "[privacy]": [{"privacy": ROWS, "training": replace(KEPT, algorithm="fedsgd", standardise=False)}],
}


def section(heading: str) -> str:
    return PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]


def rows_of(heading: str) -> list[list[str]]:
    lines = [line for line in section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_example_is_what_the_code_draws() -> None:
    digest, seed = re.findall(r"`([0-9a-f]{64})`", section("Draws"))
    assert hashlib.sha256(b"a job").hexdigest() == digest
    assert seed_of(bytes.fromhex(digest), "round-1").hex() == seed
    draws = re.findall(r"(\d+) of (\d+) places are ([\d, ]+\d)", " ".join(section("Draws").split()))
    assert len(draws) == 2
    for count, among, places in draws:
        assert draw_subset(bytes.fromhex(seed), int(among), int(count)).tolist() == [int(p) for p in places.split(", ")]


def test_the_ways_are_those_of_the_job() -> None:
    ways = list(get_args(KeepBy))
    assert re.findall(r"^\*\*`(\w+)`\.\*\*", section("The three ways"), re.MULTILINE) == ways
    assert [CODE.findall(row[0])[0] for row in rows_of("What each tells")] == ways


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"Blocks are {BLOCK_VALUES} values in a row, floor(d / {BLOCK_VALUES}) of them" in WORDS
    votes = digits_of((1 << 15) - 1, len(JOB.parties) + 1)
    assert f"d / {BLOCK_VALUES} votes, {votes} in a number of 16 bits for five parties" in WORDS
    assert f"`{votes_step('round-3')}`" in PAGE
    assert "k = ceil(keep d)" in WORDS
    assert "max(1, ceil((k - d mod 64) / 64)) blocks" in WORDS
    for d in (64, 200, 1000):
        k = kept_count(d, 0.3)
        assert k == -(-3 * d // 10)
        assert wanted_blocks(d, k) == max(1, -(-(k - d % 64) // 64))
    # "half of itself plus half of the magnitude", "the k - ceil(k / 2) values whose number is largest".
    assert (DECAY, RANDOM_SHARE) == (0.5, 0.5)


def test_what_is_refused_stands_there_and_no_more() -> None:
    assert [CODE.findall(row[0])[0] for row in rows_of("Refused, by name")] == list(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_page_calls_refused_is(name: str) -> None:
    for changes in REFUSED[name]:
        with pytest.raises(InputError, match=r"keep|protection\.masked"):
            replace(JOB, **changes)
