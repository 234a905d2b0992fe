"""`hekat init --from`: tables as people have them give a job that runs without an edit, and every hint can be taken."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from hekat.cli.main import build_parser, main
from hekat.data import ColumnSpec
from hekat.job.horizontal.job_file import load_job
from hekat.job.site_file import load_site

HEADER = ["patient_id", "age", "ward", "dose", "seen", "remark", "clinic", "ill"]


def init(folder: Path, *options: str) -> int:
    try:
        return main(["init", str(folder), *options])
    except SystemExit as stop:  # argparse
        return int(stop.code or 0)


def write_table(path: Path, seed: int, rows: int = 240, *, separator: str = ";", encoding: str = "utf-8") -> None:
    """Texts, gaps, dates, ids, decimal commas where the separator is a semicolon."""
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(rows):
        age, dose, ward = int(rng.integers(20, 90)), float(rng.normal(3, 1)), str(rng.choice(["Süd", "Nord", "West"]))
        ill = (age - 55) / 12 + (dose - 3) + 2 * (ward == "Süd") + rng.normal(0, 0.7) > 0.6
        cells = [f"p{seed}-{number}", str(age), ward, f"{dose:.3f}", f"{1 + number % 28:02d}.03.2024"]
        cells += [f"remark {seed} {number}", "main", "yes" if ill else "no"]
        cells[1] = "NA" if rng.random() < 0.05 else cells[1]
        cells[2] = "" if rng.random() < 0.1 else cells[2]
        cells[3] = "" if rng.random() < 0.1 else cells[3].replace(".", "," if separator == ";" else ".")
        lines.append(cells)
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=separator).writerows([HEADER, *lines])


@pytest.fixture
def tables(tmp_path) -> list[str]:
    """Three files, each written in its own way."""
    for seed, (name, separator, encoding) in enumerate(
        [("north", ";", "cp1252"), ("east", ",", "utf-8"), ("south", "\t", "utf-16")]
    ):
        write_table(tmp_path / f"{name}.csv", seed, separator=separator, encoding=encoding)
    return [str(tmp_path / f"{name}.csv") for name in ("north", "east", "south")]


@pytest.mark.long
def test_tables_with_texts_gaps_dates_and_ids_run_without_an_edit(tables, tmp_path, capsys) -> None:
    assert init(tmp_path / "trial", "--from", *tables) == 0
    told = capsys.readouterr().out
    assert "north.csv: all 240 rows, 8 columns, semicolons between cells, decimal commas, cp1252" in told
    assert "label       ill: no, yes; a guess: --label COLUMN names another" in told
    assert "numbers     age, dose" in told
    assert "texts       ward (3)" in told
    assert "dates       seen: as days since 1970-01-01" in told
    for words in (
        "patient_id: names or numbers of records",
        "clinic: the same",
        "remark: almost as many",
    ):
        assert f"left out    {words}" in told
    job, site = load_job(tmp_path / "trial" / "job.toml"), load_site(tmp_path / "trial" / "site.toml")
    assert job.settings.parties == ("north", "east", "south")
    assert job.settings.classes == ("no", "yes")
    assert job.settings.validation.hold_out == 0.2
    ward, dose = job.columns.find("ward"), job.columns.find("dose")
    assert (ward.categories, ward.missing, ward.unknown) == (("Nord", "Süd", "West"), "category", "ignore")
    assert dose.fill == "median"
    assert site.parties["east"].data["rows"].options["date_format"] == "%d.%m.%Y"
    assert site.parties["south"].data["rows"].options["separator"] == "\t"
    path = str(tmp_path / "trial" / "job.toml")
    assert main(["run", path, "--dry-run"]) == 0
    capsys.readouterr()
    assert main(["run", path, "--runs", str(tmp_path / "runs"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    encrypted = next(row for row in summary["results"] if row["kind"] == "encrypted")
    assert encrypted["validation"]["auc"] > 0.85


def test_a_table_is_not_given_to_two_parties(tables, tmp_path, capsys) -> None:
    copy = tmp_path / "copy.csv"
    copy.write_bytes(Path(tables[0]).read_bytes())
    for third in (tables[0], str(copy)):
        assert init(tmp_path / "trial", "--from", *tables[:2], third, "--parties", "north,east,south") == 2
        told = capsys.readouterr().err
        assert "two parties would have the same rows" in told
        assert "--split" in told
    assert not (tmp_path / "trial").exists()


@pytest.mark.long
def test_one_table_is_dealt_out_to_all_parties(tables, tmp_path, capsys) -> None:
    assert init(tmp_path / "trial", "--from", tables[0], "--split", "--parties", "a,b") == 2
    assert "--allow-two-parties" in capsys.readouterr().err
    assert init(tmp_path / "trial", "--from", tables[0], "--split", "--parties", "a,b", "--allow-two-parties") == 0
    capsys.readouterr()
    dealt = [(tmp_path / "trial" / "data" / f"{name}.csv").read_text().splitlines() for name in ("a", "b")]
    whole = Path(tables[0]).read_text(encoding="cp1252").splitlines()
    assert [part[0] for part in dealt] == [whole[0]] * 2
    assert sorted(dealt[0][1:] + dealt[1][1:]) == sorted(whole[1:])
    path = str(tmp_path / "trial" / "job.toml")
    assert main(["run", path, "--runs", str(tmp_path / "runs"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert next(row for row in summary["results"] if row["kind"] == "encrypted")["validation"]["auc"] > 0.8


def test_one_table_of_several_parties_leaves_places_for_the_others(tables, tmp_path, capsys) -> None:
    assert init(tmp_path / "trial", "--from", tables[0], "--label", "ill", "--parties", "north,east,south") == 0
    site = load_site(tmp_path / "trial" / "site.toml")
    north, east = (site.parties[name].data["rows"].options for name in ("north", "east"))
    assert north["path"] == "../north.csv"
    assert east == {**north, "path": "data/east.csv"}
    assert "say in site.toml where rows lie" in capsys.readouterr().out


def test_columns_that_differ_are_told_at_once_and_left_out(tmp_path, capsys) -> None:
    for name, header in (("a", "age,dose,ill"), ("b", "Age,dose,ill,extra"), ("c", "age,dose,ill")):
        rows = [f"{number},{(number + ord(name)) % 7}.5,{'yes' if number % 2 else 'no'}" for number in range(30)]
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *(row + ",1" * ("extra" in header) for row in rows)]))
    tables = [str(tmp_path / f"{name}.csv") for name in "abc"]
    assert init(tmp_path / "trial", "--from", *tables) == 0
    told = capsys.readouterr().out
    for words in ("age: not in b.csv", "Age: not in a.csv, c.csv", "extra: not in a.csv, c.csv"):
        assert f"left out    {words}" in told
    assert main(["run", str(tmp_path / "trial" / "job.toml"), "--dry-run"]) == 0


def test_dates_that_can_be_read_in_two_ways_are_left_out_with_the_way_to_keep_them(tmp_path, capsys) -> None:
    rows = [f"{1 + n % 9:02d}/{1 + n % 12:02d}/2024,{n % 7},{'yes' if n % 2 else 'no'}" for n in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["seen,x,ill", *rows]))
    assert init(tmp_path / "trial", "--from", str(tmp_path / "a.csv"), "--split") == 0
    told = capsys.readouterr().out
    assert "left out    seen: dates in a.csv that can be read in two ways; in site.toml take it off ignore" in told
    text = (tmp_path / "trial" / "site.toml").read_text()
    text = text.replace('ignore = ["seen"]', 'dates = ["seen"]\ndate_format = "%d/%m/%Y"')
    (tmp_path / "trial" / "site.toml").write_text(text)
    assert main(["run", str(tmp_path / "trial" / "job.toml"), "--dry-run"]) == 0


@pytest.mark.long
def test_dates_in_several_forms_are_left_out_with_a_cure_that_works(tmp_path, capsys) -> None:
    def init_with(*columns: list[str]) -> str:
        rows = [
            f"{','.join(cells)},{n % 7},{'yes' if n % 2 else 'no'}"
            for n, cells in enumerate(zip(*columns, strict=True))
        ]
        (tmp_path / "a.csv").write_text("\n".join(["seen,left,x,ill", *rows]))
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        assert init(folder, "--from", str(tmp_path / "a.csv"), "--split") == 0
        assert main(["run", str(folder / "job.toml"), "--dry-run"]) == 0
        return capsys.readouterr().out

    iso = [f"2024-{1 + n % 12:02d}-{1 + n % 28:02d}" for n in range(60)]
    german = [f"{1 + n % 28:02d}.{1 + n % 12:02d}.2024 10:30" for n in range(60)]
    mixed = [iso[n] if n % 2 else german[n] for n in range(60)]
    told = init_with(mixed, iso)
    assert "left out    seen: dates in a.csv in several forms; write all of them in one, such as 2024-02-29" in told
    assert "dates       left" in told
    told = init_with(german, iso)
    assert "in another form than its other dates; write all dates of the table in one form, such as" in told
    # The cures: all in one form, whichever it is.
    assert "dates       seen, left: as days" in init_with(iso, iso)
    assert "dates       seen, left: as days" in init_with(german, german)


@pytest.mark.long
@pytest.mark.parametrize("beyond", [2**40 + 1, -(2.0**41)])
def test_values_that_a_run_refuses_are_left_out_with_a_cure_that_works(beyond, tmp_path, capsys) -> None:
    def init_with(factor: float) -> str:
        times = [beyond * factor if n == 30 else n * factor for n in range(60)]
        rows = [f"{times[n]!r},{n % 7},{'yes' if n % 2 else 'no'}" for n in range(60)]
        (tmp_path / "a.csv").write_text("\n".join(["time,x,ill", *rows]))
        folder = tmp_path / str(factor)
        assert init(folder, "--from", str(tmp_path / "a.csv"), "--split") == 0
        assert main(["run", str(folder / "job.toml"), "--dry-run"]) == 0
        return capsys.readouterr().out

    assert "left out    time: values beyond 2^40, as of record numbers or of times in small units; write it in a" in (
        init_with(1)
    )
    assert "numbers     time, x" in init_with(0.001)


def test_a_separator_at_the_end_of_each_line_is_told_of_and_runs(tmp_path, capsys) -> None:
    rows = [f"{7 * n % 31};{n % 9};{'yes' if n % 2 else 'no'};" for n in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["age;dose;ill;", *rows]))
    assert init(tmp_path / "trial", "--from", str(tmp_path / "a.csv"), "--split") == 0
    told = capsys.readouterr().out
    assert "3 columns, semicolons between cells, one column at the end without a name, empty in every row: left" in told
    assert main(["run", str(tmp_path / "trial" / "job.toml"), "--dry-run"]) == 0


def test_the_index_that_pandas_writes_is_a_record_number(tmp_path, capsys) -> None:
    rows = [f"{7 * n + n % 3},{n % 9},{'yes' if n % 2 else 'no'}" for n in range(60)]
    (tmp_path / "a.csv").write_text("\n".join([",x,ill", *rows]))
    assert init(tmp_path / "trial", "--from", str(tmp_path / "a.csv"), "--split") == 0
    assert "left out    index: names or numbers of records" in capsys.readouterr().out
    assert main(["run", str(tmp_path / "trial" / "job.toml"), "--dry-run"]) == 0


def test_the_index_of_a_data_frame_in_a_parquet_file_is_a_record_number(tmp_path, capsys) -> None:
    pandas = pytest.importorskip("pandas", reason="needs hekat[dev]")
    pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    frame = pandas.DataFrame({"x": [n % 9 for n in range(60)], "ill": ["no", "yes"] * 30})
    frame[frame.x != 4].to_parquet(tmp_path / "a.parquet")
    options = ["--data", "parquet", "--label", "ill", "--parties", "a,b,c"]
    assert init(tmp_path / "trial", "--from", str(tmp_path / "a.parquet"), *options) == 0
    told = capsys.readouterr().out
    assert "left out    __index_level_0__: names or numbers of records" in told
    assert "numbers     x\n" in told


def test_a_few_odd_texts_among_numbers_count_as_empty_cells(tmp_path, capsys) -> None:
    rows = [f"{'none yet' if n % 20 == 0 else n % 9},{n % 7},{'yes' if n % 2 else 'no'}" for n in range(300)]
    (tmp_path / "a.csv").write_text("\n".join(["dose,x,ill", *rows]))
    assert init(tmp_path / "trial", "--from", str(tmp_path / "a.csv"), "--split") == 0
    assert "dose: 'none yet' count as empty cells" in capsys.readouterr().out
    spec = load_job(tmp_path / "trial" / "job.toml").columns.find("dose")
    assert (spec.empty, spec.fill) == (("none yet",), "median")
    assert main(["run", str(tmp_path / "trial" / "job.toml"), "--dry-run"]) == 0


def test_rows_that_a_run_refuses_are_told(tmp_path, capsys) -> None:
    (tmp_path / "a.csv").write_text("age,ill\n61,yes\n40,\n50,no\n7,8,9\n")
    assert init(tmp_path / "trial", "--from", str(tmp_path / "a.csv"), "--label", "ill") == 0
    told = capsys.readouterr().out
    assert "to mend     a.csv: 1 rows have no ill (first in line 3)" in told
    assert "to mend     a.csv: 1 lines have another number of cells than the header (first: line 5)" in told


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("age,ill\n61,yes\n40,no\n", ("--label", "il"), "did you mean 'ill'"),
        ("who,ill\nann,yes\nbob,no\n", ("--label", "ill"), "no column is left to learn from"),
        ("age,who\n" + "".join(f"{n % 9},name {n}\n" for n in range(50)), ("--label", "who"), "cannot be the label"),
    ],
)
def test_tables_that_cannot_be_trained_on_are_refused_and_nothing_written(content, options, words, tmp_path, capsys):
    (tmp_path / "a.csv").write_text(content if "who,ill" not in content else content.replace("who", "id"))
    assert init(tmp_path / "new", "--from", str(tmp_path / "a.csv"), *options) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_wide_table_is_not_shown_whole(tmp_path, capsys) -> None:
    names = [f"pixel_{number}" for number in range(64)]
    lines = [",".join([*names, "label"]), "0," * 64 + "a", "1," * 64 + "b", "0," * 64 + "a"]
    (tmp_path / "digits.csv").write_text("\n".join(lines) + "\n")
    assert init(tmp_path / "trial", "--from", str(tmp_path / "digits.csv")) == 0
    told = capsys.readouterr().out
    assert "pixel_19 and 44 more" in told
    assert "pixel_20" not in told


def test_of_one_party_s_table_the_parties_find_the_categories(tmp_path, capsys) -> None:
    """The job then shows nobody a text of it; a column of too many, or of too few rows of each, is written out."""
    rows = [
        f"kind {n % 4},town {n % 120 if n < 200 else n % 2},{n % 11},{'yes' if n % 3 else 'no'}" for n in range(600)
    ]
    (tmp_path / "a.csv").write_text("\n".join(["kind,town,x,ill", *rows]))
    assert init(tmp_path / "trial", "--from", str(tmp_path / "a.csv")) == 0
    told = capsys.readouterr().out
    assert "to find     categories of kind: by all parties together, who then know each text that" in told
    assert "write min_rows = ... under" in told
    assert "[columns.kind] of job.toml" in told
    text = (tmp_path / "trial" / "job.toml").read_text()
    assert "kind 1" not in text
    columns = load_job(tmp_path / "trial" / "job.toml").columns
    assert columns.find("kind") == ColumnSpec("kind", found=True, other=True)
    assert columns.find("town").categories == ("town 0", "town 1")
    (tmp_path / "b.csv").write_text(
        "\n".join(["kind,ill", *(f"kind {n % 3},{'yes' if n % 2 else 'no'}" for n in range(9))])
    )
    assert init(tmp_path / "small", "--from", str(tmp_path / "b.csv")) == 0
    assert load_job(tmp_path / "small" / "job.toml").columns.find("kind").categories == ("kind 0", "kind 1", "kind 2")


def test_a_long_vocabulary_stands_in_lines_that_can_be_read(tmp_path, capsys) -> None:
    rows = [f"category number {n % 40},{n % 11},{'yes' if n % 3 else 'no'}" for n in range(400)]
    (tmp_path / "a.csv").write_text("\n".join(["kind,x,ill", *rows]))
    assert init(tmp_path / "trial", "--from", str(tmp_path / "a.csv"), "--split") == 0
    text = (tmp_path / "trial" / "job.toml").read_text()
    assert max(map(len, text[text.index("[columns.kind]") :].splitlines())) <= 120
    assert len(load_job(tmp_path / "trial" / "job.toml").columns.find("kind").categories) == 40


def test_every_option_that_is_hinted_at_exists(tables, tmp_path, capsys, monkeypatch) -> None:
    """Options in what the command says, in refusals and in the files that it writes."""
    monkeypatch.chdir(tmp_path)
    attempts = [
        ("t1", "--from", *tables), ("t2", "--from", tables[0]), ("t3", "--from", tables[0], "--split"),
        ("t4", "--split"), ("t5", "--from", *tables, "--split"), ("t6", "--from", *tables[:2]),
        ("t7", "--from", *tables, "--label", "x"), ("t8", "--from", *tables, "--parties", "a,b"),
        ("t9", "--from", tables[0], "--data", "npz"), ("t10", "--from", tables[0], tables[0]),
        ("t11", "--from", *tables, "--label", "remark"),
    ]  # fmt: skip
    for folder, *options in attempts:
        init(Path(folder), *options)
    said = capsys.readouterr()
    text = said.out + said.err + "".join(path.read_text() for path in tmp_path.glob("t*/*.toml"))
    hinted = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))
    assert {"--label", "--split", "--parties", "--dry-run", "--allow-two-parties"} <= hinted
    known = {
        option
        for command in ("init", "run")
        for group in build_parser(command)._actions
        if group.dest == "command"
        for action in group.choices[command]._actions
        for option in action.option_strings
    }
    assert hinted <= known


def write_columns(path: Path, header: str, rows: list[str]) -> str:
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("sign", "separator", "word"), [(".", ";", "points"), (",", ";", "commas"), (",", ",", "commas")]
)
def test_thousands_are_not_taken_for_fractions(sign, separator, word, tmp_path, capsys) -> None:
    amounts = [f'"{n // 1000}{sign}{n % 1000:03d}"' if n > 999 else str(n) for n in range(100, 12_100, 100)]
    rows = [separator.join([amount, str(n % 7), str(n % 2)]) for n, amount in enumerate(amounts)]
    table = write_columns(tmp_path / "t.csv", separator.join(["amount", "x", "y"]), rows)
    assert init(tmp_path / "job", "--from", table, "--label", "y") == 0
    told = capsys.readouterr().out
    assert f"left out    amount: {word} between thousands in t.csv; write numbers without them" in told
    assert "numbers     x\n" in told
    assert init(tmp_path / "regression", "--from", table, "--label", "amount") == 2
    assert "between thousands" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("{:_}", {"_": ".", "word": "points"}),
        ("{:_}", {"_": ",", "word": "commas"}),
        ("{:_}", {"_": "'", "word": "apostrophes"}),
        ("{:_}", {"_": "\u00a0", "word": "spaces"}),
        ("{:_}c50", {"_": ".", "c": ",", "word": "points"}),
    ],
)
@pytest.mark.parametrize("least", [100, 1_000_000])
def test_thousands_that_no_source_reads_as_numbers_are_named_and_not_called_texts(
    form, words, least, tmp_path, capsys
) -> None:
    """Also where most cells are plain numbers, whose few texts would else count as empty cells."""
    amounts = [form.format(least + 7_919 * n) if n % 40 == 0 else str(n) for n in range(400)]
    amounts[-1] = form.format(4_294_967)
    word = words["word"]
    for sign, by in words.items():
        amounts = [amount.replace(sign, by) for amount in amounts] if sign != "word" else amounts
    table = write_columns(tmp_path / "t.csv", "amount;x;y", [f"{a};{n % 7};{n % 2}" for n, a in enumerate(amounts)])
    assert init(tmp_path / "job", "--from", table, "--label", "y") == 0
    told = capsys.readouterr().out
    assert f"left out    amount: {word} between thousands in t.csv; write numbers without them" in told
    assert "numbers     x\n" in told
    assert init(tmp_path / "regression", "--from", table, "--label", "amount") == 2
    assert f"the labels have {word} between thousands" in capsys.readouterr().err.replace("\n", " ")


def test_texts_that_only_look_like_grouped_numbers_stay_texts(tmp_path, capsys) -> None:
    rows = [f"{('192.168.100.200', '10.0.0.1')[n % 2]};{n % 5};{n % 2}" for n in range(60)]
    table = write_columns(tmp_path / "t.csv", "address;x;y", rows)
    assert init(tmp_path / "job", "--from", table, "--label", "y") == 0
    assert "texts       address (2)" in capsys.readouterr().out


def test_a_table_that_is_not_there_is_told_by_the_option_that_names_it(tmp_path, capsys) -> None:
    assert init(tmp_path / "job", "--from", str(tmp_path / "rows.csv"), "--label", "y") == 2
    told = capsys.readouterr().err
    assert "check the path after --from" in told
    assert "site file" not in told
    assert not (tmp_path / "job").exists()


def test_fractions_of_three_digits_are_numbers(tmp_path, capsys) -> None:
    rows = [f"{1 + n / 8:.3f},{n / 9:.3f},{n % 2}" for n in range(60)]
    table = write_columns(tmp_path / "t.csv", "a,b,y", rows)
    assert init(tmp_path / "job", "--from", table, "--label", "y") == 0
    assert "numbers     a, b\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("north", "south", "words"),
    [
        (["True", "False"], ["TRUE", "FALSE"], "FALSE and False"),
        (["1", "0"], ["yes", "no"], "numbers in north.csv, texts in south.csv"),
    ],
)
def test_labels_in_two_spellings_are_refused_unless_they_are_named(north, south, words, tmp_path, capsys) -> None:
    tables = [
        write_columns(
            tmp_path / f"{name}.csv", "x,y", [f"{(n + ord(name[0])) % 11},{labels[n % 2]}" for n in range(40)]
        )
        for name, labels in (("north", north), ("south", south), ("west", north))
    ]
    assert init(tmp_path / "job", "--from", *tables, "--label", "y") == 2
    refused = capsys.readouterr().err
    assert "the labels are not spelt alike" in refused
    assert words in refused
    assert not (tmp_path / "job").exists()
    named = ",".join(dict.fromkeys([*north, *south]))
    assert init(tmp_path / "job", "--from", *tables, "--label", "y", "--classes", named) == 0
    assert load_job(tmp_path / "job" / "job.toml").settings.classes == tuple(named.split(","))


def test_what_a_job_cannot_say_of_a_column_leaves_it_out(tmp_path, capsys) -> None:
    rows = [f'{n % 11},"{"ab"[n % 2]}\nc",{"uv"[n % 2]},{"" if n % 3 else n},{n % 5},{n % 2}' for n in range(60)]
    table = write_columns(tmp_path / "t.csv", "x,note,a*,b*,c*,y", rows)
    assert init(tmp_path / "job", "--from", table, "--label", "y") == 0
    told = capsys.readouterr().out
    assert "numbers     x, c*\n" in told
    assert "left out    note: texts with line breaks or other control characters; write them without" in told
    assert "left out    a*, b*: * stands for any characters in a job; rename the column in the table" in told
    site = load_site(tmp_path / "job" / "site.toml")
    assert site.parties["alpha"].data["rows"].options["ignore"] == ("note", "a*", "b*")


def test_numbers_that_begin_with_zeros_are_told_and_can_be_categories(tmp_path, capsys) -> None:
    rows = [f"{('01234', '90210', '00501')[n % 3]},{n / 8:.3f},{n % 2}" for n in range(90)]
    table = write_columns(tmp_path / "t.csv", "zip,x,y", rows)
    assert init(tmp_path / "job", "--from", table, "--label", "y", "--split") == 0
    told = capsys.readouterr().out
    assert "numbers     zip, x\n            zip: numbers that begin with 0" in told
    path = tmp_path / "job" / "job.toml"
    path.write_text(path.read_text() + '\n[columns.zip]\ncategories = ["00501", "01234", "90210"]\n')
    assert main(["run", str(path), "--dry-run"]) == 0


@pytest.mark.parametrize(
    ("label", "classes", "got"),
    [("y", "no,yes", "2 other: "), ("y", "0,2", "1 other: 1"), ("x", "0,1", "other: ")],
)
def test_classes_that_are_not_the_labels_are_refused_before_a_run_refuses_them(
    label: str, classes: str, got: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = []
    for name, first in (("a", 0), ("b", 100), ("c", 200)):
        tables.append(tmp_path / f"{name}.csv")
        lines = [f"{number / 7:.3f},{number % 2}\n" for number in range(first, first + 40)]
        tables[-1].write_text("x,y\n" + "".join(lines))
    options = ("--from", *map(str, tables), "--label", label, "--classes")
    assert init(tmp_path / "job", *options, classes) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "holds other labels than --classes names" in told
    assert got in told
    assert not (tmp_path / "job").exists()
    assert init(tmp_path / "job", "--from", *map(str, tables), "--label", "y", "--classes", "0,1,2") == 0
