"""One secret for the sums of a group: each step once, in the process that made it, until it is wiped."""

from __future__ import annotations

import contextlib
import copy
import itertools
import pickle
import threading

import numpy as np
import pytest
from tests.protocol.secure_sum.masked.runs.test_no_reuse import in_a_fork

from hekat.errors import BoundError, KeyRefusedError, ProtocolError
from hekat.protocol.secure_sum.masked.group.group_secret import GroupSecret, OpenedGroup, OpenedSum, key_of_upload
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.scheme.lattice import SETS, SecretKey, add, decrypt, encrypt, generate_secret, public_key, sum_secrets

PARAMETERS = SETS["A16-16"]
SESSION = b"s" * 32
AGREED, OTHER = b"a" * 32, b"o" * 32


def test_a_step_is_masked_once() -> None:
    secret = GroupSecret(generate_secret(PARAMETERS))
    first = secret.take("tree-1/level-0")
    second = secret.take("tree-1/level-1")
    assert first.coefficients.any()
    assert np.array_equal(first.coefficients, second.coefficients)
    for step in ("tree-1/level-0", "tree-1/level-1"):
        with pytest.raises(ProtocolError, match="is summed twice under one secret"):
            secret.take(step)


def test_what_an_upload_has_of_it_is_wiped_by_itself() -> None:
    secret = GroupSecret(generate_secret(PARAMETERS))
    secret.take("g/1").wipe()
    assert secret.take("g/2").coefficients.any()


def test_once_wiped_it_masks_nothing() -> None:
    """Zeros for a secret would leave the values under errors alone."""
    own = generate_secret(PARAMETERS)
    secret = GroupSecret(own)
    secret.wipe()
    assert not own.coefficients.any()
    with pytest.raises(KeyRefusedError, match="masks nothing any more"):
        secret.take("g/1")
    secret.wipe()


def test_it_is_not_wiped_while_an_upload_takes_it() -> None:
    """Another thread that ends the run waits, and does not turn what is being copied to zeros."""
    wiper, taking = None, threading.Event()

    class Slow:
        def __init__(self) -> None:
            self._own = generate_secret(PARAMETERS)

        def once_more(self):
            nonlocal wiper
            wiper = threading.Thread(target=secret.wipe)
            wiper.start()
            taking.wait(0.05)  # never set: time in which the wiper would come first
            return self._own.once_more()

        def wipe(self) -> None:
            self._own.wipe()

    secret = GroupSecret(Slow())
    assert secret.take("g/1").coefficients.any()
    wiper.join()
    with pytest.raises(KeyRefusedError, match="masks nothing any more"):
        secret.take("g/2")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_masks_nothing_with_its_parents_secret() -> None:
    secret = GroupSecret(generate_secret(PARAMETERS))
    assert in_a_fork(lambda: secret.take("g/1")) == "KeyRefusedError"
    assert secret.take("g/1").coefficients.any()


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickle.dumps])
def test_it_is_not_copied(make) -> None:
    with pytest.raises(KeyRefusedError, match="not copied or pickled"):
        make(GroupSecret(generate_secret(PARAMETERS)))


def test_its_words_hold_no_secret() -> None:
    secret = GroupSecret(generate_secret(PARAMETERS))
    secret.take("g/1")
    assert repr(secret) == "GroupSecret(1 steps)"


def leg(step: str, agreement: bytes, number: int = 3) -> Leg:
    return Leg(step, number, ("a", "b", "c"), agreement)


def test_step_agreement_number_session_and_set_are_in_the_public_polynomials() -> None:
    changed = [
        (SESSION, leg("g/1", AGREED), PARAMETERS),
        (SESSION, leg("g/2", AGREED), PARAMETERS),
        (SESSION, leg("g/1", OTHER), PARAMETERS),
        (SESSION, leg("g/1", AGREED, number=4), PARAMETERS),
        (b"t" * 32, leg("g/1", AGREED), PARAMETERS),
        (SESSION, leg("g/1", AGREED), SETS["A8-32"]),
        # Fields are told apart, however they are cut.
        (SESSION, leg("g/1a", AGREED[1:] + b"a"), PARAMETERS),
    ]
    keys = {key_of_upload(*one) for one in changed}
    assert len(keys) == len(changed)
    assert public_key(SESSION, 3, PARAMETERS) not in keys


KEYS = {
    "with the agreement": key_of_upload,
    "from number and step alone": lambda session, leg, parameters: public_key(
        session, leg.number, parameters, leg.step.encode()
    ),
}


@pytest.mark.parametrize("rule", KEYS)
def test_the_open_sum_of_secrets_opens_no_sum_of_parties_that_agree_on_different_things(rule) -> None:
    """The aggregator gave `c` another sum before, so that `c` sums another node, where the others have no row.

    Members would refuse to release; but the sum of the secrets is known here, from the first sum of the group. What
    comes out without the rule is all that `c` has in that node.
    """
    key_of = KEYS[rule]
    secrets = {party: GroupSecret(generate_secret(PARAMETERS)) for party in "abc"}
    known = sum_secrets([secret.take("g/1") for secret in secrets.values()])
    values = np.arange(1, 51, dtype=np.int32)
    uploads = []
    for party, secret in secrets.items():
        own = leg("g/2", OTHER if party == "c" else AGREED)
        levels = values if party == "c" else np.zeros_like(values)
        uploads.append(encrypt(PARAMETERS, secret.take("g/2"), key_of(SESSION, own, PARAMETERS), levels))
    total = add(PARAMETERS, values.size, uploads)
    for agreement in (AGREED, OTHER):
        key = key_of(SESSION, leg("g/2", agreement), PARAMETERS)
        if rule == "with the agreement":
            with pytest.raises(BoundError, match="does not open"):
                decrypt(PARAMETERS, known, key, total, values.size)
        else:
            assert np.array_equal(decrypt(PARAMETERS, known, key, total, values.size), values)


@pytest.mark.parametrize("left_out", "abc")
def test_the_open_sum_of_secrets_opens_no_sum_over_fewer_parties(left_out) -> None:
    secrets = {party: GroupSecret(generate_secret(PARAMETERS)) for party in "abc"}
    known = sum_secrets([secret.take("g/1") for secret in secrets.values()])
    key = key_of_upload(SESSION, leg("g/2", AGREED), PARAMETERS)
    values = np.arange(40, dtype=np.int32)
    uploads = {party: encrypt(PARAMETERS, secret.take("g/2"), key, values) for party, secret in secrets.items()}
    whole = decrypt(PARAMETERS, known, key, add(PARAMETERS, values.size, list(uploads.values())), values.size)
    assert np.array_equal(whole, 3 * values)
    del uploads[left_out]
    for others in (list(uploads.values()), [*uploads.values(), next(iter(uploads.values()))]):
        with pytest.raises(BoundError, match="does not open"):
            decrypt(PARAMETERS, known, key, add(PARAMETERS, values.size, others), values.size)


def test_of_all_that_an_aggregator_can_add_the_open_sum_of_secrets_opens_one_upload_of_each_for_one_step() -> None:
    """Each party's uploads for two steps, each left out, once or twice in it; b, which works with the aggregator, makes
    up another upload of its own for either step: that may stand in the place of its first one, and of no other's."""
    secrets = {party: GroupSecret(generate_secret(PARAMETERS)) for party in "abc"}
    known = sum_secrets([secret.take("g/1") for secret in secrets.values()])
    own = secrets["b"].take("g/1-again")
    values = np.arange(40, dtype=np.int32)
    keys = {step: key_of_upload(SESSION, leg(step, AGREED), PARAMETERS) for step in ("g/2", "g/3")}
    uploads = {
        (party, step): encrypt(PARAMETERS, secret.take(step), key, values)
        for step, key in keys.items()
        for party, secret in secrets.items()
    }
    for step, key in keys.items():
        uploads["b, made up", step] = encrypt(PARAMETERS, SecretKey(PARAMETERS, own.coefficients), key, -values)
    opened = set()
    for times in itertools.product(range(3), repeat=len(uploads)):
        if sum(times) != len(secrets):
            continue
        added = [name for name, count in zip(uploads, times, strict=True) for _ in range(count)]
        total = add(PARAMETERS, values.size, [uploads[name] for name in added])
        for step, key in keys.items():
            with contextlib.suppress(BoundError):
                decrypt(PARAMETERS, known, key, total, values.size)
                opened.add((step, frozenset(added)))
    assert opened == {
        (step, frozenset([("a", step), (second, step), ("c", step)])) for step in keys for second in ("b", "b, made up")
    }


def test_a_group_is_left_with_all_that_was_held_of_it() -> None:
    group = OpenedGroup()
    assert group.enter("tree-1")
    opened = OpenedSum(leg("tree-1/level-0", AGREED), PARAMETERS, None, sum_secrets([generate_secret(PARAMETERS)]))
    group.hold(opened)
    assert not group.enter("tree-1")
    assert group.find(PARAMETERS) is opened
    assert group.find(SETS["A8-32"]) is None
    assert opened.leg_of("tree-1/leaves", OTHER) == leg("tree-1/leaves", OTHER)
    assert group.enter("tree-2")
    assert group.parameters == ()
    assert group.find(PARAMETERS) is None
