"""How runs end when tables, keys, messages or states do not fit, or when a party leaves in the middle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import (
    BoundError,
    InputError,
    KeyRefusedError,
    PartyStoppedError,
    PolicyError,
    ProtocolError,
    WireKindError,
)
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.vertical_linear.arbiter.arbiter import run_arbiter
from hekat.protocol.vertical_linear.arbiter.bfv_arithmetic import BfvArithmetic
from hekat.protocol.vertical_linear.arbiter.bfv_capacity import SPARED_BYTES
from hekat.protocol.vertical_linear.arbiter.guest import run_guest
from hekat.protocol.vertical_linear.arbiter.host import run_host
from hekat.protocol.vertical_linear.arbiter.paillier_arithmetic import PaillierArithmetic
from hekat.protocol.vertical_linear.training_settings import FixedPoint
from hekat.scheme.bfv import CIPHERTEXT_BYTES, open_products
from hekat.scheme.paillier import encrypt
from hekat.wire import to_bytes


def stopped(rehearsal, cause, party: str | None = None) -> PartyStoppedError:
    """The error that ends the run: `cause`, raised at `party`."""
    with pytest.raises(PartyStoppedError) as caught:
        rehearsal.run()
    assert isinstance(caught.value.__cause__, cause), caught.value
    if party is not None:
        assert caught.value.party == party
    return caught.value


@pytest.mark.long
def test_a_party_that_leaves_in_mid_epoch_is_named_and_states_are_kept(rehearse, settings_of, tables_of) -> None:
    left: list[str] = []

    def leave(channel, table, settings, run):
        send = channel.send

        def send_but_not_twice(to, step, message):
            if step == "epoch-2/batch-2/scores":
                left.append(step)
                raise ConnectionError("the line is dead")
            return send(to, step, message)

        channel.send = send_but_not_twice
        return run_host(channel, table, settings, run)

    tables, job = tables_of(1, columns=(3, 2, 2)), settings_of(host_count=2, epochs=3)
    run = rehearse(job, tables, stand_ins={"telco": leave})
    error = stopped(run, ConnectionError, "telco")
    assert left
    assert error.step.startswith("epoch-2/batch-")
    assert error.saved == "telco's part after epoch 1"
    kept = {party: states[-1] for party, states in run.saved.items()}
    assert {state.epochs_done for state in kept.values()} == {1}
    whole, resumed = rehearse(job, tables), rehearse(job, tables, resume_from=kept)
    parts, others = whole.run(), resumed.run()
    for party in job.parties:
        assert np.array_equal(parts[party].arrays["weights"], others[party].arrays["weights"])


def test_parties_with_other_rows_are_refused(rehearse, settings_of, tables_of) -> None:
    tables = tables_of(1) | {"shop": tables_of(1, rows=59)["shop"]}
    error = stopped(rehearse(settings_of(), tables), ProtocolError, "bank")
    assert "shop has other rows than bank; expected 60 rows; got 59 rows" in str(error)


def test_parties_that_resume_from_other_epochs_are_refused(rehearse, settings_of, tables_of) -> None:
    tables, job = tables_of(1), settings_of()
    first = rehearse(job, tables)
    first.run()
    states = {"bank": first.saved["bank"][0], "shop": first.saved["shop"][1]}
    error = stopped(rehearse(job, tables, resume_from=states), ProtocolError, "bank")
    assert "shop resumes from another epoch than bank; expected 1 epochs done; got 2 epochs done" in str(error)


def test_a_state_of_another_party_is_refused(rehearse, settings_of, tables_of) -> None:
    tables, job = tables_of(1, columns=(3, 2)), settings_of()
    first = rehearse(job, tables)
    first.run()
    states = {"bank": first.saved["shop"][0], "shop": first.saved["shop"][0]}
    error = stopped(rehearse(job, tables, resume_from=states), InputError, "bank")
    assert "the state of bank" in str(error)


def test_a_warm_start_from_other_columns_is_refused(rehearse, settings_of, tables_of) -> None:
    start = {"bank": {"weights": np.zeros((3, 1)), "intercept": np.zeros(1)}, "shop": {"weights": np.zeros((5, 1))}}
    error = stopped(rehearse(settings_of(), tables_of(1), start_from=start), InputError, "shop")
    assert "the weights that shop starts from: weights has the wrong layout" in str(error)
    del start["bank"]["intercept"]
    error = stopped(rehearse(settings_of(), tables_of(1), start_from=start), InputError)
    assert "starts from" in str(error)


def test_labels_at_a_host_and_none_at_the_guest_are_refused(rehearse, settings_of, tables_of) -> None:
    tables = tables_of(1)
    both = tables | {"shop": replace(tables["shop"], labels=tables["bank"].labels)}
    assert "has labels" in str(stopped(rehearse(settings_of(), both), InputError, "shop"))
    none = tables | {"bank": replace(tables["bank"], labels=None)}
    assert "guest bank has no labels" in str(stopped(rehearse(settings_of(), none), InputError, "bank"))
    constant = tables | {"bank": replace(tables["bank"], labels=np.ones(60, np.int64))}
    assert "labels of guest bank are all the same" in str(stopped(rehearse(settings_of(), constant), InputError))


def test_a_constant_column_of_a_host_is_refused(rehearse, settings_of, tables_of) -> None:
    tables = tables_of(1) | {"shop": Table(np.ones((60, 2)), None, ("u", "v"), "shop")}
    assert "feature with one value" in str(stopped(rehearse(settings_of(), tables), InputError, "shop"))


def test_a_host_that_could_solve_for_labels_is_refused_before_anything_leaves(rehearse, settings_of, tables_of) -> None:
    run = rehearse(settings_of(accepted=None), tables_of(1, rows=199))
    error = stopped(run, PolicyError, "shop")
    assert "the gradients of host shop would tell labels" in str(error)
    assert not any(run.sent.values())


def test_the_guest_refuses_a_host_that_does_not(rehearse, settings_of, tables_of) -> None:
    """A host that checks nothing tells its number of columns; the guest, whose labels are at stake, checks it too."""

    def lax(channel, table, settings, run):
        return run_host(channel, table, replace(settings, label_leak_accepted="hosts may learn labels"), run)

    run = rehearse(settings_of(accepted=None), tables_of(1, rows=199), stand_ins={"shop": lax})
    error = stopped(run, PolicyError, "bank")
    assert "the gradients of host shop would tell labels" in str(error)
    assert run.sent["bank"] == []


@pytest.mark.parametrize(
    "change",
    [
        {"column_count": 0},
        {"column_count": 2**22 + 1},
        {"feature_bits": 41},
        {"high_leverage_columns": -1},
        {"high_leverage_columns": 3},
    ],
)
def test_a_host_with_impossible_columns_is_refused(rehearse, settings_of, tables_of, change) -> None:
    def lie(channel, table, settings, run):
        send = channel.send
        channel.send = lambda to, step, message: send(
            to, step, replace(message, **change) if step == "ready" else message
        )
        return run_host(channel, table, settings, run)

    error = stopped(rehearse(settings_of(), tables_of(1), stand_ins={"shop": lie}), ProtocolError, "bank")
    assert "shop has columns that cannot be" in str(error)


@pytest.mark.parametrize("told", ["shop", "judge"])
@pytest.mark.parametrize(
    "change", [{"feature_bits": 1000}, {"column_counts": [3, 2**22 + 1]}, {"column_counts": []}, {"column_counts": [3]}]
)
def test_sizes_that_cannot_be_are_refused_by_who_is_told_them(
    rehearse, settings_of, tables_of, change, told: str
) -> None:
    def lie(channel, table, settings, run):
        send = channel.send
        channel.send = lambda to, step, message: send(
            to, step, replace(message, **change) if (to, step) == (told, "start") else message
        )
        return run_guest(channel, table, settings, run)

    error = stopped(rehearse(settings_of(), tables_of(1), stand_ins={"bank": lie}), ProtocolError, told)
    assert "bank begins with sizes that cannot be" in str(error)


OF_HIGH_LEVERAGE = "expected the columns of high leverage among its own; got 3 columns,"


@pytest.mark.parametrize("high", [-1, 4])
def test_a_guest_with_impossible_columns_is_refused(rehearse, settings_of, tables_of, high: int) -> None:
    def lie(channel, table, settings, run):
        send = channel.send
        channel.send = lambda to, step, message: send(
            # The arbiter is told the truth, so that the guest takes the key.
            to,
            step,
            replace(message, high_leverage_columns=high) if (to, step) == ("shop", "start") else message,
        )
        return run_guest(channel, table, settings, run)

    error = stopped(rehearse(settings_of(), tables_of(1), stand_ins={"bank": lie}), ProtocolError, "shop")
    assert f"bank begins with columns that cannot be; {OF_HIGH_LEVERAGE} {high}" in str(error)


def test_a_host_refuses_sums_that_its_features_would_pass(rehearse, settings_of, tables_of) -> None:
    def lie(channel, table, settings, run):
        send = channel.send
        channel.send = lambda to, step, message: send(
            to, step, replace(message, feature_bits=1) if (to, step) == ("shop", "start") else message
        )
        return run_guest(channel, table, settings, run)

    error = stopped(rehearse(settings_of(), tables_of(1), stand_ins={"bank": lie}), ProtocolError, "shop")
    assert "bank begins with fewer bits than features of this host take" in str(error)


def test_a_job_within_the_rule_is_run(rehearse, settings_of, tables_of) -> None:
    run = rehearse(settings_of(accepted=None, columns_accepted=None, batch_rows=200, epochs=1), tables_of(1, rows=400))
    run.run()
    assert len(run.exactness_check.checks) == 2


def test_a_key_of_another_size_is_refused(rehearse, settings_of, tables_of, paillier_keys) -> None:
    run = rehearse(settings_of(), tables_of(1))
    run.key_pair = paillier_keys[3072][0]
    error = stopped(run, KeyRefusedError, "judge")
    assert "expected 2048 bits; got 3072 bits" in str(error)


def test_residuals_of_another_shape_are_refused(rehearse, settings_of, tables_of, monkeypatch) -> None:
    hold = PaillierArithmetic.hold
    monkeypatch.setattr(PaillierArithmetic, "hold", lambda self, rows: hold(self, rows[:-9]))
    error = stopped(rehearse(settings_of(), tables_of(1)), ProtocolError, "bank")
    assert "shop sent numbers of another shape" in str(error)


def test_the_arbiter_opens_no_more_than_a_gradient(rehearse, settings_of, tables_of, monkeypatch) -> None:
    """A host that asks for one residual more gets nothing opened."""
    mask = PaillierArithmetic.mask

    def mask_more(self, products):
        masked = mask(self, products)
        more = encrypt(self._key, PackedPlaintext(np.zeros((products.size + 1, 1), np.uint64), 1))
        return replace(masked, data=to_bytes(more))

    monkeypatch.setattr(PaillierArithmetic, "mask", mask_more)
    error = stopped(rehearse(settings_of(), tables_of(1)), ProtocolError, "judge")
    assert "bank asks for other numbers to be opened than its gradient has; expected 4; got 5" in str(error)


def test_under_bfv_the_arbiter_opens_no_more_than_a_gradient_either(
    rehearse, settings_of, tables_of, monkeypatch
) -> None:
    mask = BfvArithmetic.mask

    def mask_more(self, products):
        doubled = np.append(np.arange(len(products.places)), 0)
        return mask(self, products.take(doubled))

    monkeypatch.setattr(BfvArithmetic, "mask", mask_more)
    error = stopped(rehearse(settings_of(protection="lattice"), tables_of(1)), ProtocolError, "judge")
    assert "bank asks for other numbers to be opened than its gradient has; expected 4; got 5" in str(error)


def test_under_bfv_residuals_of_another_shape_and_numbers_that_are_no_gradient_are_refused(
    rehearse, settings_of, tables_of, monkeypatch
) -> None:
    hold = BfvArithmetic.hold
    with monkeypatch.context() as patched:
        patched.setattr(BfvArithmetic, "hold", lambda self, rows: hold(self, np.repeat(rows, 2, axis=1)))
        error = stopped(rehearse(settings_of(protection="lattice"), tables_of(1)), ProtocolError, "bank")
    assert "shop sent numbers of another shape" in str(error)

    def open_nonsense(key, masked, layout, **others):
        # Half a turn away from all small numbers: whatever the mask, no product reaches it.
        turn = layout.parameters.modulus // layout.delta
        return [(value + turn // 2) % turn for value in open_products(key, masked, layout, **others)]

    monkeypatch.setattr("hekat.protocol.vertical_linear.arbiter.openers.open_products", open_nonsense)
    error = stopped(rehearse(settings_of(protection="lattice"), tables_of(1)), ProtocolError)
    assert "judge opened what is no sum under its mask" in str(error)


def test_a_key_of_another_scheme_is_refused(rehearse, settings_of, tables_of) -> None:
    """An arbiter that runs the job under Paillier where the others run it under BFV."""
    job = settings_of(protection="lattice")

    def judge(channel, table, settings, run):
        run_arbiter(channel, replace(settings, protection="paillier"), run)

    error = stopped(rehearse(job, tables_of(1), stand_ins={"judge": judge}), WireKindError)
    assert "bfv/public-key" in str(error)


def test_sums_that_bfv_has_no_room_for_are_refused_at_once(rehearse, settings_of, tables_of) -> None:
    job = settings_of(protection="lattice", batch_rows=0)
    job = replace(job, fixed_point=FixedPoint(feature_bits=30, value_bits=40))
    run = rehearse(job, tables_of(1, rows=9000))
    error = stopped(run, BoundError)
    assert "lower fixed_point.value_bits or fixed_point.feature_bits, or use protection.kind = 'paillier'" in str(error)
    sent = {type(message).__name__ for party in run.sent.values() for _, _, message in party}
    assert sent == {"HostReadyMessage", "StartMessage"}


@pytest.mark.long
def test_a_gradient_that_passes_one_message_is_refused_at_once(rehearse, settings_of, tables_of, monkeypatch) -> None:
    room = "hekat.protocol.vertical_linear.arbiter.bfv_capacity.MAX_FRAME_BYTES"
    run = rehearse(settings_of(protection="lattice", task="three classes"), tables_of(1, task="three classes"))
    rows_bytes = 3 * CIPHERTEXT_BYTES
    monkeypatch.setattr(room, SPARED_BYTES + rows_bytes)
    run.run()
    monkeypatch.setattr(room, SPARED_BYTES + rows_bytes - 1)
    error = stopped(rehearse(run.settings, run.tables), BoundError)
    assert f"expected at most {rows_bytes - 1} bytes; got {rows_bytes} bytes" in str(error)


def test_diverging_training_is_told_and_never_wraps(rehearse, settings_of, tables_of) -> None:
    run = rehearse(settings_of(protection="none", epochs=60, learning_rate=20.0), tables_of(1))
    error = stopped(run, BoundError)
    assert "learning_rate" in str(error)
    assert error.saved
