"""PyTorch's generator in blocks with a seed: as before outside of them, also where one lies in another."""

from __future__ import annotations

import pytest

from hekat.torch_library import seeded

torch = pytest.importorskip("torch", reason="needs hekat[torch]")


@pytest.mark.timeout(60)
def test_a_block_within_a_block_of_one_thread_draws_from_its_own_seed() -> None:
    with seeded(1):
        first = torch.rand(3)
        with seeded(2):
            inner = torch.rand(3)
        second = torch.rand(3)
    with seeded(1):
        both = torch.rand(6)
    with seeded(2):
        assert torch.equal(inner, torch.rand(3))
    assert torch.equal(torch.cat([first, second]), both)
