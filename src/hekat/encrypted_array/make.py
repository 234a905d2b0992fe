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
from hekat.encrypted_array.residency import check_reachable
from hekat.encrypted_array.signed_limbs import plaintext_of
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
    """The values encrypted under `key`, one to a ciphertext, or `pack` of them along the last axis.

    Integers (of any size) are exact. Floats become round(x * 2^scale_bits): off by at most 2^-(scale_bits + 1).
    A torch tensor or CuPy array on a GPU is encoded and encrypted there, and stays; what is beyond 64 bits at its
    scale is then refused. bfloat16 counts as float32. Source: FLASH (NSDI 2023), Listing 1.

    Args:
        values: numbers, nested lists of them, an array or a tensor, of any shape.
        key: with the private key encryption is faster.
        scale_bits: bits after the point, for floats.
        bound: a public bound |x| <= bound in the values' own units, never taken from the values. None: what the dtype
            can hold for integer arrays, 2^63 for Python integers, 2^31 for floats.
        pack: how many values lie in a ciphertext, along the last axis. None: one.
        lane_bits: bits of a value's slot, with `pack`. None: as wide as the key allows.
        variant: how randomisers are made: "crt", "djn" or "standard". None: the fastest for the key.
        engine: such as "cpu" or "cuda:0"; for values on a GPU that GPU. None: the active one.

    Returns:
        The encrypted array, of the shape of `values`.

    Raises:
        InputError: a value that is not a finite number.
        BoundError: a value beyond the bound; the error does not hold it.
        KeyRefusedError: anything but a key.
        EngineError: values on a GPU that the engine is not on.

    Examples:
        >>> keys = hekat.paillier.generate_keys()
        >>> x = hekat.array([1.5, -2.0], key=keys.public, bound=4)
        >>> (3 * x + 1).decrypt(keys.private)
        array([ 5.5, -5. ])
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
