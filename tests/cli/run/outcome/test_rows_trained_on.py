"""A run whose test data is its training data says so, on the terminal, in its summary and in its report."""

from __future__ import annotations

import pytest

from hekat.report import load_summary

TESTED = """
[common_data.probe]
source = "csv"
path = "probe.csv"
label = "ill"
"""


@pytest.mark.long
def test_training_rows_as_test_data_are_named_as_such(workplace) -> None:
    workplace.shorten()
    workplace.edit("job.toml", 'data = "visits"', 'data = "visits"\ntest_data = "probe"')
    with (workplace.folder / "site.toml").open("a") as site:
        site.write(TESTED)
    tables = [(workplace.folder / f"{name}.csv").read_text().splitlines() for name in ("north", "east", "south")]
    for chosen, count in ((slice(0, 3), 60), (slice(0, 1), 20)):
        rows = [row for table in tables[chosen] for row in table[1:]]
        (workplace.folder / "probe.csv").write_text("\n".join([tables[0][0], *rows]) + "\n")
        answer = workplace.run()
        assert answer.code == 0, answer.err
        said = " ".join(answer.out.split())
        assert f"of {count} training rows" in said
        assert "NOTHING OF NEW ROWS" in said
        assert "test rows" not in said
        folder = workplace.folders()[-1]
        assert load_summary(folder)["test_rows_trained_on"] == count
        assert "NOTHING OF NEW ROWS" in (folder / "report.html").read_text()


def test_new_rows_are_test_rows(workplace) -> None:
    workplace.shorten()
    workplace.edit("job.toml", 'data = "visits"', 'data = "visits"\ntest_data = "probe"')
    with (workplace.folder / "site.toml").open("a") as site:
        site.write(TESTED)
    header, *rows = (workplace.folder / "north.csv").read_text().splitlines()
    # Half of north's rows are put aside to test on.
    (workplace.folder / "north.csv").write_text("\n".join([header, *rows[:10]]) + "\n")
    (workplace.folder / "probe.csv").write_text("\n".join([header, *rows[10:]]) + "\n")
    answer = workplace.run()
    assert answer.code == 0, answer.err
    said = " ".join(answer.out.split())
    assert "of 10 test rows" in said
    assert "training rows" not in said
