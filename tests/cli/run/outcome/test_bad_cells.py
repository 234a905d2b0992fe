"""Cells and columns that a model learns nothing good from are told of, by each table's owner and by encrypted sums."""

from __future__ import annotations

import pytest

from hekat.report import load_summary


@pytest.mark.long
def test_a_slip_of_the_pen_and_a_column_of_one_value_are_told(workplace) -> None:
    for name in ("north", "east", "south"):
        path = workplace.folder / f"{name}.csv"
        header, *rows = path.read_text().splitlines()
        rows = [f"{row},1" for row in rows]
        if name == "east":
            cells = rows[6].split(",")
            rows[6] = ",".join([cells[0], "-1e12", *cells[2:]])
        path.write_text("\n".join([f"{header},ward", *rows]) + "\n")
    answer = workplace.run()
    (folder,) = workplace.folders()
    notes = load_summary(folder)["notes"]
    cell = "east: column 'dose': row 7 lies 100 times as far from the middle as all others: look at that cell"
    assert cell in notes
    assert any(note.startswith("column 'dose' holds a fifth or more of its variance in a single row") for note in notes)
    assert any(note.startswith("column 'ward' holds one value in every row of all parties") for note in notes)
    said = " ".join(answer.out.split())
    assert f"warning {cell}" in said
    assert "warning column 'ward' holds one value" in said
    assert "-1e12" not in answer.out + answer.err + "".join(notes)
    page = (folder / "report.html").read_text()
    assert "row 7 lies 100 times as far" in page


@pytest.mark.long
def test_a_column_in_another_unit_is_told_at_its_own_site(workplace) -> None:
    path = workplace.folder / "east.csv"
    header, *rows = (row.split(",") for row in path.read_text().splitlines())
    dose = header.index("dose")
    for row in rows:
        row[dose] = str(1000 * float(row[dose]) + 40_000)
    path.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    answer = workplace.run()
    notes = [note for note in load_summary(workplace.folders()[0])["notes"] if "column 'dose'" in note]
    assert notes == [
        "east: column 'dose' holds values beside the values of all other parties, with hardly a row in common: look "
        "for another unit, or another meaning"
    ]
    assert "warning east: column 'dose' holds values beside" in " ".join(answer.out.split())


@pytest.mark.long
def test_tables_without_such_cells_are_left_alone(workplace) -> None:
    answer = workplace.run()
    assert answer.code == 0, answer.err
    assert not any("column " in note for note in load_summary(workplace.folders()[0])["notes"])


def test_two_parties_with_the_same_rows_are_told_of(workplace) -> None:
    (workplace.folder / "east.csv").write_bytes((workplace.folder / "north.csv").read_bytes())
    answer = workplace.run()
    assert answer.code == 0, answer.err
    told = "all rows are also rows of north: is the path in the site file the party's own?"
    assert f"east: {told}" in load_summary(workplace.folders()[0])["notes"]
    assert f"warning east: {told}" in " ".join(answer.out.split())


@pytest.mark.long
def test_a_party_that_was_to_be_lost_after_the_end_is_told_of(workplace) -> None:
    workplace.edit("job.toml", r"^\[training\]\n(?:[^\[].*\n|\n)*", '[training]\nalgorithm = "lbfgs"\n\n')
    answer = workplace.run("--lose", "south:100")
    assert answer.code == 0, answer.err
    note = "south was to be lost in round 100, and training ended before that"
    assert note in load_summary(workplace.folders()[0])["notes"]
    assert note in " ".join(answer.out.split())
