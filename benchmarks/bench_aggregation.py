"""One aggregation of a 784-128-10 network by 9 parties: packed Paillier beside one value per ciphertext through gmpy2.

Ours is measured whole: encode, encrypt (`crt`, what parties do), serialise, add nine, decrypt, decode. The peer is
textbook Paillier, g = n + 1, r^n by gmpy2.powmod, decryption by CRT, one value to a ciphertext, timed on a sample and
scaled to all values. Both run on one thread, results are checked first, medians over the repeats.
"""

from __future__ import annotations

import os

os.environ["HEKAT_THREADS"] = "1"

import argparse
import statistics
import time
import warnings

import gmpy2
import numpy as np

from hekat.codec import compression_ratio, make_layout, plaintext_space_use
from hekat.scheme.paillier import Ciphertexts, KeyPair, add, decrypt, encrypt, generate_keys
from hekat.wire import from_bytes, to_bytes
from measuring.peers import Textbook
from measuring.record import machine, write_results

VALUE_COUNT = 784 * 128 + 128 + 128 * 10 + 10
PARTY_COUNT = 9
VALUE_BITS = 16
ALPHA = 1.0
SEED = 20261121
BYTES_TARGET, TIME_TARGET = 95, 300


def measure_ours(keys: KeyPair, updates: np.ndarray, repeats: int) -> dict[str, float]:
    """Seconds of one party by step, of the aggregator, and bytes of one upload."""
    layout = make_layout(
        "balanced",
        value_bits=VALUE_BITS,
        max_addends=PARTY_COUNT,
        plaintext_bits=keys.public.plaintext_space.bits,
    )
    encrypt(keys.private, layout.pack(layout.quantise(updates[0][:1], ALPHA)))  # tables are made once per key
    steps: dict[str, list[float]] = {}

    def clock(step: str, start: float) -> float:
        now = time.perf_counter()
        steps.setdefault(step, []).append(now - start)
        return now

    levels = [layout.quantise(update, ALPHA) for update in updates]
    uploads = [to_bytes(encrypt(keys.private, layout.pack(level))) for level in levels]
    for _ in range(repeats):
        now = time.perf_counter()
        plain = layout.pack(layout.quantise(updates[0], ALPHA))
        now = clock("encode", now)
        ciphertexts = encrypt(keys.private, plain)
        now = clock("encrypt", now)
        uploads[0] = to_bytes(ciphertexts)
        now = clock("serialise", now)
        total = from_bytes(uploads[0], Ciphertexts, public_key=keys.public)
        for upload in uploads[1:]:
            total = add(total, from_bytes(upload, Ciphertexts, public_key=keys.public))
        answer = to_bytes(total)
        now = clock("aggregate", now)
        received = from_bytes(answer, Ciphertexts, public_key=keys.public)
        opened = decrypt(keys.private, received, bound=layout.sum_bound)
        now = clock("decrypt", now)
        sums = layout.unpack(opened, VALUE_COUNT, PARTY_COUNT)
        mean = layout.dequantise(sums, ALPHA, PARTY_COUNT) / PARTY_COUNT
        clock("decode", now)
        assert np.array_equal(sums, np.sum(levels, axis=0)), "decoded sums are not the integer sums"
        assert np.abs(mean - updates.mean(axis=0)).max() <= ALPHA / 2 / 32767 * (1 + 1e-9)
    result = {f"{step}_s": statistics.median(values) for step, values in steps.items()}
    result["upload_bytes"] = len(uploads[0])
    result["ciphertexts"] = len(ciphertexts)
    result["compression_ratio"] = compression_ratio(VALUE_COUNT, layout)
    result["plaintext_space_use"] = plaintext_space_use(VALUE_COUNT, keys.public.bits, layout)
    return result


def measure_peer(keys: KeyPair, levels: np.ndarray, sample: int) -> dict[str, float]:
    """Seconds of one textbook encryption and decryption, medians over `sample` values."""
    peer = Textbook(keys.private.p, keys.private.q)
    encrypt_s, decrypt_s = [], []
    for value in levels[:sample].tolist():
        start = time.perf_counter()
        c = peer.encrypt(value % keys.public.n)
        middle = time.perf_counter()
        opened = peer.decrypt(c)
        decrypt_s.append(time.perf_counter() - middle)
        encrypt_s.append(middle - start)
        assert opened == value, "the peer does not decrypt what it encrypted"
    return {"encrypt_s": statistics.median(encrypt_s), "decrypt_s": statistics.median(decrypt_s)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bits", type=int, default=2048)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sample", type=int, default=200, help="values the peer is timed on")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    keys = generate_keys(options.bits)
    rng = np.random.default_rng(SEED)
    updates = np.clip(rng.normal(scale=0.2, size=(PARTY_COUNT, VALUE_COUNT)), -ALPHA, ALPHA)
    ours = measure_ours(keys, updates, options.repeats)
    peer = measure_peer(keys, np.round(updates[0] * 32767).astype(np.int64), options.sample)
    party_s = sum(ours[f"{step}_s"] for step in ("encode", "encrypt", "serialise", "decrypt", "decode"))
    peer_party_s = VALUE_COUNT * (peer["encrypt_s"] + peer["decrypt_s"])
    peer_bytes = VALUE_COUNT * options.bits // 4
    row = {
        "what": f"one aggregation, {VALUE_COUNT} values, {PARTY_COUNT} parties, {options.bits}-bit key, "
        f"{VALUE_BITS}-bit balanced lanes, one thread, one party's time",
        **ours,
        "party_s": party_s,
        "peer": f"gmpy2 {gmpy2.version()} textbook, one value per ciphertext, {options.sample} values timed and scaled",
        "peer_encrypt_one_s": peer["encrypt_s"],
        "peer_decrypt_one_s": peer["decrypt_s"],
        "peer_party_s": peer_party_s,
        "peer_upload_bytes": peer_bytes,
        "time_ratio": peer_party_s / party_s,
        "time_ratio_to_reach": TIME_TARGET,
        "bytes_ratio": peer_bytes / ours["upload_bytes"],
        "bytes_ratio_to_reach": BYTES_TARGET,
    }
    print(machine())
    for name, value in row.items():
        print(f"  {name:<22} {value:.6g}" if isinstance(value, float) else f"  {name:<22} {value}")
    print(write_results("aggregation", [row]))


if __name__ == "__main__":
    main()
