"""`hekat.array`: plain numbers in, an encrypted array out."""

from __future__ import annotations

from typing import Any

from hekat.array_module import device_name
from hekat.encrypted_array.array_class import EncryptedArray
from hekat.encrypted_array.encoding import Encoding
from hekat.encrypted_array.fixed_point import (
    DEFAULT_SCALE_BITS,
    check_scale_bits,
    encode_fixed_point,
    scale_bound,
)
from hekat.encrypted_array.packing import choose_packing
from hekat.encrypted_array.plain import PlainValues, read_plain
from hekat.encrypted_array.plaintexts import plaintext_of
from hekat.encrypted_array.residency import check_reachable
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.paillier import PrivateKey, PublicKey
from hekat.scheme.paillier import encrypt as encrypt_plaintexts


def array(
    values: Any,
    *,
    key: PublicKey | PrivateKey,
    scale_bits: int = DEFAULT_SCALE_BITS,
    bound: int | float | None = None,
    pack: int | None = None,
    lane_bits: int | None = None,
    variant: str | None = None,
    engine: str | None = None,
) -> EncryptedArray:
    """Encrypt numbers under `key`, one to a ciphertext or several.

    Integers of any size are exact. Floats become round(x * 2^scale_bits): off by at most 2^-(scale_bits + 1). A torch
    tensor or CuPy array on a GPU is encoded and encrypted there, and stays there; values beyond 64 bits at their scale
    are refused then. bfloat16 counts as float32.

    Args:
        values: Numbers, nested lists of them, a NumPy or CuPy array, or a torch tensor.
        key: The public key; with the private key encryption is faster.
        scale_bits: How many bits after the binary point floats keep.
        bound: The largest allowed |x|, in the values' own units; public, never taken from the values. The default is
            the largest value of the dtype for integer arrays, 2^63 for Python integers, 2^31 for floats.
        pack: Values to one ciphertext along the last axis; None gives each its own.
        lane_bits: Bits of one packed value's slot; by default as wide as the key allows.
        variant: How ciphertexts are randomised: "standard", "djn", or with the private key "crt".
        engine: The engine that encrypts; the selected engine if None, the GPU of `values` where they lie on one.

    Returns:
        The encrypted array, in the shape of `values`.

    Raises:
        InputError: `values` holds what is not a finite number, or the packing does not fit.
        BoundError: A value is beyond the bound; the message does not show it.
        KeyRefusedError: `key` is no key.
        EngineError: The values lie on a GPU that the engine does not reach.

    Source: FLASH (NSDI 2023), Listing 1.

    Examples:
        >>> import hekat
        >>> keys = hekat.paillier.generate_keys()
        >>> x = hekat.array([1, 2, 3], key=keys.public)
        >>> (3 * x - 1).decrypt(keys.private).tolist()
        [2, 5, 8]
        >>> packed = hekat.array([10, 20, 30, 40], key=keys.public, bound=1000, pack=4)
        >>> (packed + packed).decrypt(keys.private)
        array([20, 40, 60, 80])
    """
    if isinstance(values, EncryptedArray):
        raise InputError(
            "these values are encrypted already", expected="plain numbers", got="an EncryptedArray", cure="use it as is"
        )
    public = _public_key(key)
    chosen_engine = get_engine(device_name(values) if engine is None else engine)
    check_reachable(values, chosen_engine)
    with chosen_engine.active(values):
        plain = read_plain(values, allow_bool=False, resident=True)
        used_scale_bits = check_scale_bits(scale_bits) if plain.is_real else 0
        scaled_bound = scale_bound(plain.type_bound if bound is None else bound, used_scale_bits)
        encoding = _choose_encoding(plain, public, used_scale_bits, scaled_bound, pack, lane_bits)
        integers = encode_fixed_point(plain, used_scale_bits, scaled_bound)
        plaintext = plaintext_of(integers, encoding, scaled_bound)
    ciphertexts = encrypt_plaintexts(key, plaintext, variant=variant, engine=chosen_engine)
    return EncryptedArray(
        ciphertexts=ciphertexts.reshape(encoding.cipher_shape(plain.shape)),
        shape=plain.shape,
        encoding=encoding,
        scaled_bound=scaled_bound,
        is_fresh=True,
    )


def _public_key(key: Any) -> PublicKey:
    if isinstance(key, PublicKey):
        return key
    if isinstance(key, PrivateKey):
        return key.public
    raise KeyRefusedError(
        "this is no key to encrypt under",
        expected="a PublicKey (or the PrivateKey)",
        got=f"a {type(key).__name__}",
        cure="pass keys.public" if hasattr(key, "public") else "make keys with hekat.paillier.generate_keys()",
    )


def _choose_encoding(
    plain: PlainValues,
    public: PublicKey,
    scale_bits: int,
    scaled_bound: int,
    pack: int | None,
    lane_bits: int | None,
) -> Encoding:
    space = public.plaintext_space
    if pack is None:
        if lane_bits is not None:
            raise InputError("lane_bits without pack", expected="pack= as well", got="lane_bits= only")
        encoding = Encoding(scale_bits, plain.is_real)
        encoding.check_bound(scaled_bound, space, "encrypting with this bound")
        return encoding
    if not plain.shape:
        raise InputError(
            "a scalar cannot be packed",
            expected="at least one axis",
            got="shape ()",
            cure="leave pack= out, or pass [value]",
        )
    return Encoding(scale_bits, plain.is_real, choose_packing(pack, lane_bits, scaled_bound, space.bits))
