"""Keys and engines for the tests of encrypted arrays."""

import pytest


@pytest.fixture(scope="session", params=["cpu", "reference"])
def engine_name(request):
    return request.param


@pytest.fixture(scope="session")
def keys(paillier_keys):
    """A stored 512-bit key pair: fast, and unsafe for anything but tests."""
    return paillier_keys[512][0]


@pytest.fixture(scope="session")
def other_keys(paillier_keys):
    return paillier_keys[512][1]
