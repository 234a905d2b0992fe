"""Conformance: ChaCha20 gives RFC 8439's key streams, and OpenSSL's at every length and counter."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import InputError

KEY = bytes(range(32))
LAST = 2**32 - 1

# RFC 8439, appendix A.1 (five), section 2.3.2: key, nonce, counter, key stream of the block.
BLOCKS = {
    "A.1 #1": (
        "00" * 32,
        "00" * 12,
        0,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    "A.1 #2": (
        "00" * 32,
        "00" * 12,
        1,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    "A.1 #3": (
        "00" * 31 + "01",
        "00" * 12,
        1,
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    "A.1 #4": (
        "00ff" + "00" * 30,
        "00" * 12,
        2,
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
    "A.1 #5": (
        "00" * 32,
        "00" * 11 + "02",
        0,
        "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
        "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
    ),
    "2.3.2": (
        KEY.hex(),
        "000000090000004a00000000",
        1,
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
}

# RFC 8439, section 2.4.2: 114 bytes, so the second block is not whole.
PLAINTEXT = (
    b"Ladies and Gentlemen of the class of '99: "
    b"If I could offer you only one tip for the future, sunscreen would be it."
)
CIPHERTEXT = (
    "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b"
    "f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8"
    "07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
    "5af90bbf74a35be6b40b8eedf2785e42874d"
)


@pytest.mark.parametrize("case", BLOCKS)
def test_blocks_of_the_rfc(engine, case):
    key, nonce, counter, expected = BLOCKS[case]
    found = engine.chacha20(bytes.fromhex(key), bytes.fromhex(nonce), counter, 64)
    assert (found.dtype, found.shape) == (np.uint8, (64,))
    assert found.tobytes().hex() == expected


def test_encryption_of_the_rfc(engine):
    stream = engine.chacha20(KEY, bytes.fromhex("000000000000004a00000000"), 1, len(PLAINTEXT))
    assert (stream ^ np.frombuffer(PLAINTEXT, np.uint8)).tobytes().hex() == CIPHERTEXT


@pytest.mark.parametrize("counter", [0, 1, 7, 2**31 - 3, LAST - 80])
def test_every_length_around_whole_blocks(engine, oracle, counter):
    nonce = bytes(range(100, 112))
    longest = oracle.stream(KEY, nonce, counter, 64 * 70)
    for block_count in (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64):
        for byte_count in {max(0, 64 * block_count + extra) for extra in (-1, 0, 1, 8, 63)}:
            found = engine.chacha20(KEY, nonce, counter, byte_count)
            assert np.array_equal(found, longest[:byte_count]), (block_count, byte_count)


@pytest.mark.parametrize("block_count", [1, 2, 7, 8, 16, 17, 40])
def test_the_last_blocks_of_a_nonce(engine, oracle, block_count):
    counter = 2**32 - block_count
    found = engine.chacha20(KEY, bytes(12), counter, 64 * block_count)
    assert np.array_equal(found, oracle.stream(KEY, bytes(12), counter, 64 * block_count))


@pytest.mark.parametrize(
    ("counter", "byte_count"), [(LAST, 65), (LAST - 7, 64 * 8 + 1), (2**32, 1), (2**32, 0), (-1, 1), (0, 2**38 + 1)]
)
def test_a_counter_never_wraps(engine, counter, byte_count):
    with pytest.raises(InputError, match="counter would leave its 32 bits"):
        engine.chacha20(KEY, bytes(12), counter, byte_count)


def test_streams_of_nonces_and_keys_that_differ_in_one_bit(engine):
    streams = {
        engine.chacha20(bytes(key), bytes(nonce), 0, 64).tobytes()
        for key, nonce in [(32, 12)]
        + [((1 << i).to_bytes(32, "little"), 12) for i in range(256)]
        + [(32, (1 << i).to_bytes(12, "little")) for i in range(96)]
    }
    assert len(streams) == 1 + 256 + 96
