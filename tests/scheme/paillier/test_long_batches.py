"""Long batches: a word after every chunk, and Ctrl-C in the middle of one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hekat.engine.chunk_plan import ChunkPlan
from hekat.engine.reference import ReferenceEngine
from hekat.scheme.paillier import decrypt, encrypt, rerandomise

KEY_FILE = Path(__file__).parents[2] / "vectors" / "paillier_keys.json"


@pytest.fixture(params=[1, 3])
def chunks_of_four(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, and three at once."""
    monkeypatch.setattr("hekat.scheme.chunks.CHUNK_COUNT", 4)
    monkeypatch.setattr(ReferenceEngine, "chunk_plan", ChunkPlan(in_flight=request.param))


def test_a_word_after_every_chunk(small, chunks_of_four):
    said = []

    def progress(done, total):
        said.append((done, total))

    ciphertexts = encrypt(small.keys.private, small.plain(list(range(9))), engine=small.engine, progress=progress)
    assert said == [(4, 9), (8, 9), (9, 9)]
    said.clear()
    fresh = rerandomise(ciphertexts.reshape(3, 3), progress=progress)
    assert said == [(4, 9), (8, 9), (9, 9)]
    said.clear()
    assert small.integers(decrypt(small.keys.private, fresh, progress=progress)) == list(range(9))
    assert said == [(4, 9), (8, 9), (9, 9)]


def test_an_engine_may_plan_longer_chunks_for_decryption(small, chunks_of_four, monkeypatch):
    ciphertexts = encrypt(small.keys.private, small.plain(list(range(9))), engine=small.engine)
    monkeypatch.setattr(ReferenceEngine, "chunk_plan", ChunkPlan(decrypt_times=2))
    said = []
    opened = decrypt(small.keys.private, ciphertexts, progress=lambda done, total: said.append(done))
    assert small.integers(opened) == list(range(9))
    assert said == [8, 9]


def test_no_word_of_an_empty_batch(small):
    said = []

    def progress(done, total):
        said.append((done, total))

    for key in small.keys:
        none = encrypt(key, small.plain([]), engine=small.engine, progress=progress)
        assert none.shape == rerandomise(none, key, progress=progress).shape == (0,)
    assert len(decrypt(small.keys.private, none, progress=progress)) == 0
    assert said == []


def test_what_a_callback_raises_ends_the_batch(small, chunks_of_four):
    class EnoughError(Exception):
        pass

    def progress(done, total):
        raise EnoughError

    with pytest.raises(EnoughError):
        encrypt(small.keys.private, small.plain([1, 2, 3, 4, 5]), engine=small.engine, progress=progress)


# One call of the engine for everything, so that Ctrl-C must be answered within it.
LONG_BATCH = """
import json, signal, sys
import numpy as np
from hekat.engine.cpu import CpuEngine
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme import chunks
from hekat.scheme.paillier import PrivateKey, decrypt, encrypt, matmul_plain

# A shell that starts tests in the background has its children ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
operation, key_file = sys.argv[1:]
with open(key_file) as file:
    primes = json.load(file)["keys"]["2048"][0]
key, engine = PrivateKey(int(primes["p"], 16), int(primes["q"], 16)), CpuEngine()
chunks.CHUNK_COUNT = 10**9


def encrypt_zeros(count, variant="crt"):
    return encrypt(key, PackedPlaintext(np.zeros((count, 1), np.uint64), 1), variant=variant, engine=engine)


one = encrypt_zeros(1)
work = {
    "encrypt crt": lambda: encrypt_zeros(40_000),
    "encrypt djn": lambda: encrypt_zeros(40_000, "djn"),
    "decrypt": lambda: decrypt(key, one.take(np.zeros(20_000, np.int64))),
    "matmul": lambda: matmul_plain(np.full((60, 20_000), 2**62 - 1), one.take(np.zeros(20_000, np.int64))),
}
encrypt_zeros(1, "djn")
try:
    print("begins", flush=True)
    work[operation]()
    print("finished")
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize("operation", ["encrypt crt", "encrypt djn", "decrypt", "matmul"])
def test_control_c_ends_a_long_batch(operation: str) -> None:
    command = [sys.executable, "-c", LONG_BATCH, operation, str(KEY_FILE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        began = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate()
    assert (began, rest, errors) == ("begins\n", "stopped\n", "")
