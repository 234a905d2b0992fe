"""Runs among three parties or more: resume, warm start, an early stop, protection none, and settings refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from hekat.errors import BoundError, JobError, PartyStoppedError, PolicyError
from hekat.protocol.vertical.batches import draw_batches
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.many_parties.batch_rows import check_batch_rows
from hekat.protocol.vertical_linear.training_settings import FixedPoint, LinearTraining

UNIT = 2.0**-32
COLUMNS = (2, 3, 1)


@pytest.mark.long
@pytest.mark.parametrize("holders", [None, ("shop", "telco")])
def test_a_resumed_run_ends_with_the_same_model(many_run_of, many_settings, tables_of, opened, holders):
    tables = tables_of(6, rows=100, columns=COLUMNS)
    settings = many_settings(epochs=3, batch_rows=0, optimiser="momentum", learning_rate=0.1, share_holders=holders)
    whole = many_run_of(settings, tables)
    expected = opened(whole.run())
    states = {name: saved[0] for name, saved in whole.saved.items()}
    assert {state.epochs_done for state in states.values()} == {1}
    again = many_run_of(settings, tables, resume_from=states)
    assert np.abs(opened(again.run()) - expected).max() < 300 * UNIT
    assert len(again.saved["bank"]) == 2
    ended = {name: saved[-1] for name, saved in whole.saved.items()}
    assert np.array_equal(opened(many_run_of(settings, tables, resume_from=ended).run()), expected)


@pytest.mark.long
def test_a_warm_start_goes_on_from_the_weights(many_run_of, many_settings, tables_of, opened):
    tables = tables_of(7, rows=100, columns=COLUMNS)
    expected = opened(many_run_of(many_settings(epochs=3, batch_rows=0), tables).run())
    parts = many_run_of(many_settings(epochs=1, batch_rows=0), tables).run()
    start = {name: part.arrays for name, part in parts.items()}
    found = opened(many_run_of(many_settings(epochs=2, batch_rows=0), tables, start_from=start).run())
    assert np.abs(found - expected).max() < 1000 * UNIT


def test_without_protection_the_model_is_the_same(many_run_of, many_settings, tables_of, opened):
    tables = tables_of(5, rows=100, columns=COLUMNS)
    models = [
        opened(many_run_of(many_settings(protection=kind, batch_rows=0), tables).run()) for kind in ("paillier", "none")
    ]
    assert np.abs(models[0] - models[1]).max() < 300 * UNIT


@pytest.mark.parametrize("holders", [None, ("shop", "telco")])
def test_the_guest_stops_by_the_loss_and_everybody_hears_of_it(many_run_of, many_settings, tables_of, holders):
    settings = many_settings(epochs=6, patience=1, min_improvement=10.0, batch_rows=0, share_holders=holders)
    run = many_run_of(settings, tables_of(8, rows=100, columns=COLUMNS))
    run.run()
    for name in settings.parties:
        assert [state.finished for state in run.saved[name]] == [False, True]
        assert [len(state.losses) for state in run.saved[name]] == ([1, 2] if name == "bank" else [0, 0])


def test_a_part_of_a_quiet_party_holds_no_shares(many_run_of, many_settings, tables_of):
    parts = many_run_of(many_settings(epochs=1, batch_rows=0), tables_of(8, rows=100, columns=COLUMNS)).run()
    assert set(parts["telco"].arrays) == {"noise_key"}
    assert parts["telco"].arrays["noise_key"].shape == (4,)
    assert parts["telco"].holders == ("bank", "shop")
    assert parts["telco"].quiet_parties == ("telco",)


def settings_of_many(batch_rows=0, hosts=("shop", "telco"), classes=("no", "yes"), **others):
    training = LinearTraining(batch_rows=batch_rows)
    return VerticalLinearSettings("bank", hosts, classes=classes, training=training, **others)


@given(rows=st.integers(2, 3000), batch_rows=st.integers(0, 700), columns=st.integers(3, 60))
@hypothesis_settings(max_examples=200)
def test_the_cure_for_small_batches_works(rows, batch_rows, columns):
    """Batches pass that have ten rows for each column, and the batch_rows that a refusal names passes."""
    settings = settings_of_many(batch_rows)
    smallest = min(len(batch) for batch in draw_batches(rows, batch_rows, 1))
    if smallest >= 10 * (columns + 2):
        check_batch_rows(settings, [columns], rows)
        return
    with pytest.raises(PolicyError, match="could solve for rows") as caught:
        check_batch_rows(settings, [columns], rows)
    cure = caught.value.cure
    if "batch_rows to" in cure:
        named = int(cure.split("batch_rows to ")[1].split(" ")[0])
        check_batch_rows(settings_of_many(named), [columns], rows)
        check_batch_rows(settings_of_many(0), [columns], rows)
        if named > 1:
            with pytest.raises(PolicyError):
                check_batch_rows(settings_of_many(named - 1), [columns], rows)
    else:
        with pytest.raises(PolicyError):
            check_batch_rows(settings_of_many(0), [columns], rows)
        if "at most" in cure:
            most = int(cure.split("at most ")[1].split(",")[0])
            check_batch_rows(settings_of_many(0), [most], rows)


def test_three_hundred_rows_of_eleven_columns_pass_and_two_parties_have_no_such_rule():
    check_batch_rows(settings_of_many(1024), [4, 4, 3], 300)
    check_batch_rows(settings_of_many(1, hosts=("shop",)), [40, 40], 50)
    with pytest.raises(PolicyError, match="bank and shop"):
        check_batch_rows(settings_of_many(100), [4, 4, 3], 300)


def test_small_batches_are_refused_by_the_role(many_run_of, many_settings, tables_of):
    with pytest.raises(PartyStoppedError, match="could solve for rows") as caught:
        many_run_of(many_settings(batch_rows=20), tables_of(9, rows=100, columns=COLUMNS)).run()
    assert isinstance(caught.value.__cause__, PolicyError)


def test_scales_that_products_of_columns_do_not_fit_are_refused(many_run_of, many_settings, tables_of):
    settings = many_settings(batch_rows=0, fixed_point=FixedPoint(feature_bits=26))
    with pytest.raises(PartyStoppedError, match="products of columns do not fit") as caught:
        many_run_of(settings, tables_of(9, rows=100, columns=COLUMNS)).run()
    assert isinstance(caught.value.__cause__, BoundError)


def test_holders_are_two_of_the_parties():
    assert settings_of_many().holders == ("bank", "shop")
    assert settings_of_many().quiet_parties == ("telco",)
    chosen = settings_of_many(share_holders=("telco", "shop"))
    assert (chosen.holders, chosen.quiet_parties) == (("shop", "telco"), ("bank",))
    assert settings_of_many(hosts=("shop",)).quiet_parties == ()
    for holders in ((), ("bank",), ("bank", "bank"), ("bank", "grocer"), ("bank", "shop", "telco")):
        with pytest.raises(JobError, match="share_holders refused"):
            settings_of_many(share_holders=holders)
    with pytest.raises(JobError, match="share_holders belongs to another form"):
        settings_of_many(share_holders=("bank", "shop"), arbiter="judge")
