"""How the key's holder opens an answer in slots: uniform numbers, whose quotients are its shares."""

from __future__ import annotations

from hekat.engine.interface import Engine
from hekat.engine.ring.interface import RingArray
from hekat.engine.select import get_engine
from hekat.errors import KeyRefusedError
from hekat.scheme.bfv.elements import add_elements, multiply_slots, transform, transform_back
from hekat.scheme.bfv.keys import PrivateKey
from hekat.scheme.bfv.slot_products.answers import SlotAnswer
from hekat.scheme.bfv.slot_products.plaintext import floor_of_units, slots_of


def open_slots(key: PrivateKey, answer: SlotAnswer, engine: Engine | None = None) -> RingArray:
    """The holder's share of a sum of products: the slots of floor(u p / q), residues mod p, (count,).

    Raises KeyRefusedError for an answer under another key.
    """
    if answer.key != key.public:
        raise KeyRefusedError(
            "masked products of slots are under another key",
            expected=f"key {key.public.fingerprint}",
            got=f"key {answer.key.fingerprint}",
            cure="open them with the key they were made under",
        )
    engine, sums, parameters = engine or get_engine(), answer.layout.sums, answer.layout.kept
    secret = tuple(x[: len(part.primes)] for part, x in zip(parameters.parts, key.secret, strict=False))
    shared = multiply_slots(parameters, transform(parameters, answer.c1, engine), secret, engine)
    opened = add_elements(parameters, answer.c0, transform_back(parameters, shared, engine), engine)
    floors = floor_of_units(parameters, opened, sums.prime, engine)
    return slots_of(sums.ring, floors, engine).reshape(-1)[: sums.count]
