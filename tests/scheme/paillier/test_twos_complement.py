"""Bounds of signed values, at the ends of what the bound and the limbs hold."""

from __future__ import annotations

import pytest

from hekat.engine.interface import Engine
from hekat.engine.limbs import limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import BoundError
from hekat.scheme.paillier.twos_complement import check_within_bound

BOUNDS = [0, 1, 2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64, 2**126, 2**127 - 1, 2**127]


@pytest.fixture(params=["cpu", "reference"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return get_engine(request.param)


@pytest.mark.parametrize("limb_count", [1, 2, 3])
@pytest.mark.parametrize("bound", BOUNDS)
def test_a_value_is_refused_exactly_beyond_its_bound(engine: Engine, bound: int, limb_count: int) -> None:
    least, most = -(1 << 64 * limb_count - 1), (1 << 64 * limb_count - 1) - 1
    near = {end + step for end in (-bound, 0, bound) for step in (-1, 0, 1)} | {least, least + 1, most - 1, most}
    for value in sorted(value for value in near if least <= value <= most):
        limbs = limbs_from_ints([value % (1 << 64 * limb_count)], limb_count)
        if abs(value) <= bound:
            check_within_bound(limbs, bound, engine, "the value")
        else:
            with pytest.raises(BoundError, match="the value holds values beyond its bound"):
                check_within_bound(limbs, bound, engine, "the value")
