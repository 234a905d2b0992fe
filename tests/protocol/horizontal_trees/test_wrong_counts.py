"""Parties that lie about counts, that leave, and settings and rows that cannot be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.protocol.horizontal_trees.trees_rehearsal import FINE, Rehearsal, make_settings, make_tables

from hekat.data import Table
from hekat.errors import ChannelError, InputError, PartyStoppedError, PolicyError, ProtocolError
from hekat.protocol.horizontal_trees import summed_histograms
from hekat.protocol.horizontal_trees.training import check_rows


@pytest.mark.parametrize("what", ["a row more", "a gradient too large", "fewer rows than none"])
def test_a_party_that_lies_about_counts_ends_the_run_at_every_party(what, monkeypatch) -> None:
    true = summed_histograms.sum_bins
    liars = []

    def lie(digits, rows, trees, levels, width):
        sums = true(digits, rows, trees, levels, width)
        if digits.shape[1] == liars[0]:
            index = (0, 0, 0, int(np.argmax(sums[0, 0, 0])))
            if what == "a row more":
                sums[index] -= 1
            elif what == "a gradient too large":
                sums[(1, *index[1:])] = 1 + 200 * 2**19
            else:
                sums[index] = -100
        return sums

    tables = make_tables(1)
    liars.append(len(tables["b"]))
    monkeypatch.setattr(summed_histograms, "sum_bins", lie)
    with pytest.raises(PartyStoppedError) as stopped:
        Rehearsal(make_settings(), tables).run()
    cause = stopped.value.__cause__
    assert isinstance(cause, ProtocolError) or "beyond the public bound" in str(cause)
    assert "counts of rows do not fit together in tree-1/level-0" in str(cause) or "public bound" in str(cause)


def drop(party: str, step: str, at: str = "deal"):
    def before(name: str, now: str, part: str) -> None:
        if (name, now, part) == (party, step, at):
            raise ChannelError("left, as was asked for")

    return before


def test_without_a_party_no_sum_is_opened_unless_the_job_allows_it() -> None:
    """Sums with and without a party differ by its counts of rows, tree after tree."""
    tables = make_tables(2, rows=(60, 50, 70, 40))
    settings = make_settings(protection="lattice", parties=("a", "b", "c", "d"))
    with pytest.raises(PartyStoppedError, match="lost: d"):
        Rehearsal(settings, tables, before=drop("d", "tree-2/level-0")).run()


@pytest.mark.long
def test_where_the_job_allows_it_the_others_go_on_from_the_next_tree() -> None:
    tables = make_tables(2, rows=(60, 50, 70, 40))
    settings = make_settings(protection="lattice", parties=("a", "b", "c", "d"), min_parties=3)
    run = Rehearsal(settings, tables, before=drop("d", "tree-2/level-0"))
    states = run.run()
    assert sorted(states) == ["a", "b", "c"]
    assert [loss.party for loss in run.lost] == ["d"]
    assert [record.party_count for record in run.records] == [4, 3]
    ledger = run.sessions["a"].ledger
    assert ledger is not None
    noted = [line for line in ledger.data.decode().splitlines() if "gradients, " in line]
    assert {("tree-1/" in line, "of all parties" in line, "of 3 of 4 parties" in line) for line in noted} == {
        (True, True, False),
        (False, False, True),
    }
    assert states["a"].trees[0][0].count[0] == 220
    assert states["a"].trees[1][0].count[0] == 180


@pytest.mark.parametrize("part", ["upload", "open"])
def test_a_party_that_leaves_within_a_tree_ends_the_run_and_the_trees_before_it_stay(part) -> None:
    """The sums of one tree over other parties would tell the part of the one that left: members open none."""
    tables = make_tables(2, rows=(60, 50, 70, 40))
    settings = make_settings(protection="lattice", parties=("a", "b", "c", "d"), min_parties=3)
    run = Rehearsal(settings, tables, before=drop("d", "tree-2/level-1", part))
    with pytest.raises(PartyStoppedError):
        run.run()
    assert [state.iterations_done for state in run.saved] == [1]


def with_features(change) -> Table:
    table = make_tables(1)["a"]
    features = table.features.copy()
    change(features)
    return replace(table, features=features)


def test_rows_that_trees_cannot_learn_from_are_refused() -> None:
    settings = make_settings()
    table = make_tables(1)["a"]
    with pytest.raises(InputError, match="infinite"):
        check_rows(with_features(lambda features: features.__setitem__((0, 0), np.inf)), settings)
    for value in (np.nan, 2.0):
        with pytest.raises(InputError, match="another value in a column of 0 and 1"):
            check_rows(with_features(lambda features, value=value: features.__setitem__((0, 3), value)), settings)
    with pytest.raises(InputError, match="no labels"):
        check_rows(replace(table, labels=None), settings)
    with pytest.raises(InputError, match="labels refused"):
        check_rows(replace(table, labels=np.full(len(table), 2, dtype=np.int64)), settings)
    with pytest.raises(InputError, match="targets refused"):
        check_rows(replace(table, labels=np.full(len(table), np.nan)), make_settings(class_count=0))
    with pytest.raises(InputError, match="cannot be split"):
        check_rows(table.take(np.arange(2)), make_settings(hold_out=0.5))


@pytest.mark.parametrize(
    ("tables", "others", "error"),
    [
        ({"a": "more columns"}, {}, "column"),
        ({"all": "constant"}, {}, "no column can split"),
        ({"all": "one class"}, {}, "a class has no row"),
        ({"a": "many rows"}, {}, "more rows than the job's weight_max"),
        ({}, {"training": replace(FINE, min_samples_leaf=101)}, "too few rows for a split"),
    ],
)
def test_runs_that_cannot_be_end_with_what_is_wrong(tables, others, error) -> None:
    found = make_tables(1)
    for name in found if "all" in tables else tables:
        table = found[name]
        if "more columns" in tables.values():
            found[name] = replace(
                table,
                features=np.column_stack([table.features, table.features[:, 0]]),
                feature_names=(*table.feature_names, "y"),
            )
        elif "constant" in tables.values():
            found[name] = replace(table, features=np.ones_like(table.features))
        elif "one class" in tables.values():
            found[name] = replace(table, labels=np.zeros(len(table), dtype=np.int64))
        else:
            found[name] = table.take(np.tile(np.arange(len(table)), 2))
    with pytest.raises((PartyStoppedError, PolicyError), match=error):
        Rehearsal(make_settings(**others), found).run()


@pytest.mark.parametrize(
    ("others", "error"),
    [
        ({"training": replace(FINE, gradient_bits=32)}, "sums of gradients do not fit"),
        ({"hold_out": 0.95}, "validation.hold_out"),
        ({"class_count": 1}, "classes"),
    ],
)
def test_settings_that_cannot_be_are_refused(others, error) -> None:
    with pytest.raises(InputError, match=error):
        make_settings(**others)


@pytest.mark.parametrize(
    ("component", "bin_number", "value", "columns"),
    [(0, 0, 11, 1), (1, 0, 81, 1), (1, 1, -161, 1), (2, 0, -1, 1), (2, 1, 321, 1), (1, 0, 0, 2), (2, 0, 0, 2)],
)
def test_sums_that_no_rows_have_do_not_fit(component, bin_number, value, columns) -> None:
    """Of 10 and 20 rows by bin, with gradients from -8 to 8 and hessians from 0 to 16; columns add up to the same."""
    source = object.__new__(summed_histograms.SummedHistograms)
    source._level_size = 8
    most = np.tile([[10, 20]], (1, columns, 1))
    sums = np.stack([most, -8 * most, 16 * most])
    source._check("here", sums, most)
    sums[component, 0, 0, bin_number] = value
    with pytest.raises(ProtocolError, match="do not fit together in here"):
        source._check("here", sums, most)
