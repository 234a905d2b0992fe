"""Sums with a party and without it tell all counts of that party. So a run opens none unless its job allows it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.protocol.horizontal_trees.trees_rehearsal import Rehearsal, make_settings, make_tables

from hekat.errors import ChannelError, PartyStoppedError
from hekat.protocol.horizontal_trees import summed_histograms
from hekat.protocol.secure_sum.integer_sums import sum_integers

PARTIES = ("a", "b", "c", "d")


def leave_before_the_second_tree(name: str, step: str, part: str) -> None:
    if (name, step, part) == ("d", "tree-2/level-0", "deal"):
        raise ChannelError("left, as was asked for")


def root_counts(monkeypatch, **others):
    """(rows of all parties by bin in each tree's root, as any party sees them; the rehearsal; why it stopped)."""
    seen = {}

    def keep(aggregation, step, tensors, **settings):
        found = sum_integers(aggregation, step, tensors, **settings)
        if step.endswith("/level-0"):
            seen[step] = found.tensors["rows"]
        return found

    monkeypatch.setattr(summed_histograms, "sum_integers", keep)
    settings = make_settings(protection="lattice", parties=PARTIES, **others)
    run = Rehearsal(settings, make_tables(2, rows=(60, 50, 70, 40)), before=leave_before_the_second_tree)
    try:
        return seen, run.run()["a"], run
    except PartyStoppedError as stopped:
        return seen, stopped, run


def test_a_job_that_goes_on_without_a_party_lets_the_others_subtract_its_counts(monkeypatch) -> None:
    seen, state, run = root_counts(monkeypatch, min_parties=3)
    difference = seen["tree-1/level-0"] - seen["tree-2/level-0"]
    features = run.tables["d"].features
    own = [
        np.bincount(bins.digits(features[:, column]), minlength=bins.bin_count)[counts > 0]
        for column, (bins, counts) in enumerate(zip(state.bins, state.counts, strict=True))
    ]
    assert np.array_equal(difference, np.concatenate(own)), "the attack finds every count of the party that left"


def test_without_the_jobs_word_no_second_sum_is_there_to_subtract(monkeypatch) -> None:
    seen, stopped, run = root_counts(monkeypatch)
    assert isinstance(stopped, PartyStoppedError)
    assert sorted(seen) == ["tree-1/level-0"]
    assert [state.iterations_done for state in run.saved] == [1]


@pytest.mark.long
@pytest.mark.sealed
def test_without_masks_the_aggregator_sees_every_party_and_with_them_none() -> None:
    """What leaves a party holds its numbers in the clear under protection `none` alone."""
    sent = {}
    for protection in ("none", "lattice"):
        run = Rehearsal(make_settings(protection=protection), make_tables(2))
        run.run()
        ledger = run.sessions["hub"].ledger
        assert ledger is not None
        sent[protection] = "THE PARTY'S UPDATE, UNENCRYPTED" in ledger.data.decode()
    assert sent == {"none": True, "lattice": False}


@pytest.mark.parametrize("least", [1, 2])
def test_a_sum_of_fewer_parties_than_hide_one_another_is_opened_in_no_job(least, monkeypatch) -> None:
    """Of four parties three are needed, whatever `min_parties` says."""
    settings = make_settings(protection="lattice", parties=PARTIES, min_parties=least)
    tables = make_tables(2, rows=(60, 50, 70, 40))

    def leave(name: str, step: str, part: str) -> None:
        if name in "cd" and step == "tree-2/level-0" and part == "deal":
            raise ChannelError("left, as was asked for")

    with pytest.raises(PartyStoppedError, match="too few"):
        Rehearsal(settings, tables, before=leave).run()
