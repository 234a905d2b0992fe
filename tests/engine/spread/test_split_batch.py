"""One batch over the CPU and a GPU that the host emulates: encrypted, added, decrypted, as by one engine."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cpu import CpuEngine
from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.limbs import LIMB_BITS, ints_from_limbs, limbs_from_ints
from hekat.engine.spread.engine import SpreadEngine
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import Ciphertexts, decrypt, encrypt
from hekat.scheme.paillier.evaluate import add, add_many, matmul_plain, multiply_plain, subtract, sum_along

COUNT = 24
BOUND = 10**6


def plaintexts(values):
    return PackedPlaintext(limbs_from_ints([value % (1 << LIMB_BITS) for value in values], 1), BOUND)


def signed(plain):
    limbs = plain.limbs.astype("<u8")
    return [int.from_bytes(row.tobytes(), "little", signed=True) for row in limbs]


@pytest.fixture(scope="module", params=[1, 2])
def engine(request):
    """The CPU and one or two GPUs, whose work is queued as on real ones; batches of two and more are cut equally."""
    gpus = [CudaEngine(EmulatedDevice(index, streams=index)) for index in range(request.param)]
    return SpreadEngine([CpuEngine(1), *gpus], "round_robin", least_work=1, least_chunks=2)


@pytest.mark.parametrize("variant", ["djn", "crt"])
def test_a_batch_is_encrypted_added_and_decrypted_by_both(engine, paillier_keys, variant):
    keys = paillier_keys(512)
    key = keys.private if variant == "crt" else keys.public
    x, y = np.arange(COUNT) * 7 - 50, 1000 - np.arange(COUNT) ** 2
    before = [load.items for load in engine.loads()]
    cipher_x = encrypt(key, plaintexts(x.tolist()), variant=variant, engine=engine)
    cipher_y = encrypt(key, plaintexts(y.tolist()), variant=variant, engine=engine)
    total = add(cipher_x, cipher_y)
    assert total.engine is engine
    assert total.residues.data.partition.counts == dict.fromkeys(range(len(before)), COUNT // len(before))
    assert signed(decrypt(keys.private, total)) == (x + y).tolist()
    # The same ciphertexts in one engine: to the bit the same sum, and the same plaintexts.
    alone = CpuEngine(1)
    plain_path = [Ciphertexts.from_limbs(keys.public, c.to_limbs(), engine=alone) for c in (cipher_x, cipher_y)]
    np.testing.assert_array_equal(total.to_limbs(), add(*plain_path).to_limbs())
    assert signed(decrypt(keys.private, add(*plain_path))) == (x + y).tolist()
    done = [load.items - old for load, old in zip(engine.loads(), before, strict=True)]
    assert min(done) >= 4 * COUNT // len(done)
    assert not any(load.waiting for load in engine.loads())


def test_what_is_computed_of_ciphertexts_is_what_one_engine_computes(engine, paillier_keys):
    keys = paillier_keys(512)
    alone = CpuEngine(1)
    cipher = encrypt(keys.public, plaintexts(range(COUNT)), engine=engine)
    same = Ciphertexts.from_limbs(keys.public, cipher.to_limbs(), engine=alone)
    matrix = np.arange(3 * COUNT).reshape(3, COUNT) % 11 - 5
    for operation in (
        lambda c: subtract(c, c[::-1]),
        lambda c: add_many([c, c, c]),
        lambda c: sum_along(c.reshape((4, COUNT // 4)), 1),
        lambda c: multiply_plain(c, np.arange(COUNT) - 9),
        lambda c: matmul_plain(matrix, c),
        lambda c: Ciphertexts.concatenate([c[::2], c[1::2]]),
    ):
        np.testing.assert_array_equal(operation(cipher).to_limbs(), operation(same).to_limbs())
    assert ints_from_limbs(cipher.to_limbs()) == ints_from_limbs(same.to_limbs())
