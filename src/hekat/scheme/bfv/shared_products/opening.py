"""How the key's holder opens an answer: uniform numbers, whose quotients are its shares."""

from __future__ import annotations

from hekat.engine.interface import Engine
from hekat.engine.select import get_engine
from hekat.errors import KeyRefusedError
from hekat.scheme.bfv.elements import multiply_slots, transform, transform_back
from hekat.scheme.bfv.keys import PrivateKey
from hekat.scheme.bfv.shared_products.answers import Answer
from hekat.scheme.bfv.shared_products.encoding import Numbers, numbers_of
from hekat.scheme.bfv.shared_products.places import take_products
from hekat.scheme.bfv.shared_products.residues import add, round_to


def open_share(key: PrivateKey, answer: Answer, engine: Engine | None = None) -> Numbers:
    """The holder's share of a product: floor(u t / q), numbers mod 2^bits in the product's shape.

    Raises KeyRefusedError for an answer under another key.
    """
    if answer.key != key.public:
        raise KeyRefusedError(
            "masked products are under another key",
            expected=f"key {key.public.fingerprint}",
            got=f"key {answer.key.fingerprint}",
            cure="open them with the key they were made under",
        )
    engine, layout, parameters = engine or get_engine(), answer.layout, answer.parameters
    secret = tuple(x[: len(part.primes)] for part, x in zip(parameters.parts, key.secret, strict=False))
    shared = multiply_slots(parameters, transform(parameters, answer.c1, engine), secret, engine)
    at_places = tuple(take_products(x, layout) for x in transform_back(parameters, shared, engine))
    opened = add(parameters, answer.c0, at_places)
    return numbers_of(
        round_to(parameters, opened, layout.bits, engine), layout.bits, layout.shape.rows, layout.shape.columns
    )
