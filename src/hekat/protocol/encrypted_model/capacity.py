"""What a round takes, from the job and the number of columns alone: numbers, products, bytes of each role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hekat.protocol.encrypted_model.arithmetic.affine_map import state_size
from hekat.protocol.encrypted_model.arithmetic.bfv import lay_out_round
from hekat.protocol.encrypted_model.arithmetic.fixed_point import check_room, truncation_bits
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.scheme.bfv.parameters import RESIDUE_BYTES

_NUMBER_BYTES = 16


@dataclass(frozen=True)
class RoundPlan:
    """One round of a job.

    `numbers` are carried: of each column of targets a weight of every column and the intercept, with momentum a
    velocity of each. Under `lattice` `ciphertexts` hold them, a host multiplies `products` plain polynomials with these
    and answers with `answers` ciphertexts; under `paillier` both are a ciphertext each, and products are terms.
    `sent_bytes` of a role are the bytes of numbers, without the frames around them. A run goes astray with odds below
    2^-`truncation_bits`.
    """

    numbers: int
    ciphertexts: int
    products: int
    answers: int
    truncation_bits: int
    sent_bytes: Mapping[str, int]


def plan_round(settings: EncryptedModelSettings, column_count: int) -> RoundPlan:
    """The plan for tables of so many columns. Raises BoundError, as the roles do, for what cannot run."""
    size, target_count, hosts = state_size(column_count, settings), settings.target_count, settings.hosts
    check_room(size, target_count, settings.training.rounds)
    numbers = size * target_count
    ciphertexts = products = answers = 0
    share = update = total = _NUMBER_BYTES * numbers
    if settings.protection == "paillier":
        ciphertexts, products, answers = numbers, numbers * size, numbers
        share = update = total = numbers * settings.key_bits // 4
    if settings.protection == "lattice":
        layout = lay_out_round((size, target_count), len(hosts))
        blocks, shape = layout.blocks, layout.shape
        ciphertexts, products, answers = blocks.inputs(shape), blocks.products(shape), blocks.answers(shape)
        share, total = layout.input_bytes, layout.answer_bytes
        residue_bytes = RESIDUE_BYTES * len(layout.parameters.primes)
        update = answers * layout.parameters.polynomial_bytes + numbers * residue_bytes
    sent = dict.fromkeys(hosts, update) | {
        settings.arbiter: share,
        settings.aggregator: len(hosts) * share + total,
    }
    odds = truncation_bits(numbers, settings.training.rounds)
    return RoundPlan(numbers, ciphertexts, products, answers, odds, sent)
