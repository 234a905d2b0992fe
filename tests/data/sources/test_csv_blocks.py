"""Blocks of a CSV file give what its records give one by one: every bit, every line number, every refusal."""

import random
from pathlib import Path

import numpy as np
import pytest

from hekat.data import CsvDialect
from hekat.data.columns.specs import ColumnSpec, ColumnSpecs
from hekat.data.plain_numbers import PADDING, read_plain_numbers
from hekat.data.sources import csv_blocks, csv_file
from hekat.data.sources.csv_blocks import PlainBlocks
from hekat.errors import InputError

NUMBERS = ["0", "-0", "+7", "3.25", "-.5", "12.", "00012.50", "1e-3", "123456789.5", "0.1234567890123456"]
NUMBERS += ["9007199254740992", "9007199254740993", "99999999.99999999", "0.30000000000000004", " 4.5 ", "5\t"]
ODD = ["", " ", "NA", "-999", "-999.0", "nan", "inf", "1e999", "1_000", "1.2.3", "1-2", "--1", "+", "-", ".", "1,5"]
ODD += ["x", "½", "١٢", "1\xa0", "7/8", "1:2", "0x10", "2024-02-29"]


def read_both(path: Path, monkeypatch: pytest.MonkeyPatch, dialect: CsvDialect, **options):
    """What blocks make of the file, and what records alone do."""

    def read():
        try:
            table = csv_file._read(
                path,
                dialect,
                lambda names: csv_file.NamedColumns(**{"label": None, "id": None, **options}).choose(path, names),
                ColumnSpecs((ColumnSpec("town", categories=("a",)),), everywhere=False),
                "rows",
            )
        except InputError as error:
            return str(error)
        columns = {
            name: (one.codes.tolist(), one.texts) if hasattr(one, "codes") else one.tobytes()
            for name, one in table.columns.items()
        }
        ids = None if table.ids is None else list(table.ids.to_bytes())
        labels = None if table.labels is None else table.labels.tolist()
        return columns, labels, ids, table.lines.tolist(), table.row_count

    ours = read()
    with monkeypatch.context() as patch:
        patch.setattr(PlainBlocks, "__iter__", lambda self: iter(()))
        return ours, read()


@pytest.mark.parametrize("seed", range(60))
def test_blocks_give_what_records_give(tmp_path, monkeypatch, seed):
    chance = random.Random(seed)
    monkeypatch.setattr(csv_blocks, "_BLOCK_BYTES", chance.choice([1, 40, 300, 2**19]))
    separator, decimal = chance.choice([(",", "."), (";", "."), (";", ","), ("\t", "."), ("|", ",")])
    encoding = chance.choice(["utf-8", "utf-8", "cp1252", "utf-16"])
    odd_share = chance.choice([0.0, 0.0, 0.02, 0.2])
    missing = chance.choice([(), ("-999",), ("NA", "?"), ("-999", "NA")])
    ending = chance.choice(["\n", "\n", "\r\n", "\r"])

    def cell() -> str:
        text = chance.choice(ODD if chance.random() < odd_share else NUMBERS)
        if decimal == "," and chance.random() < 0.9:
            text = text.replace(".", ",")
        return text.replace(separator, "").replace("½", "é" if encoding == "cp1252" else "½").replace("١٢", "8")

    def town() -> str:
        text = chance.choice(["a", " b ", "long name of a town", "ä", "", "NA", "1.0"])
        return f'"{text}{separator}"' if chance.random() < odd_share / 4 else text

    lines = [separator.join(["x", "town", "y", "ill", "who"])]
    for row in range(chance.choice([1, 3, 60])):
        lines.append(separator.join([cell(), town(), cell(), chance.choice(["yes", "no "]), f"p{row}"]))
        lines += [""] * (chance.random() < 0.05)
        lines[-1] += separator * (chance.random() < odd_share / 40)
    text = ending.join(lines) + ending * chance.choice([0, 1, 2])
    path = tmp_path / "rows.csv"
    path.write_bytes(
        (b"\xef\xbb\xbf" if encoding == "utf-8" and chance.random() < 0.3 else b"") + text.encode(encoding)
    )
    dialect = CsvDialect(separator, decimal, encoding, missing)
    ours, records = read_both(path, monkeypatch, dialect, label="ill", id="who")
    assert ours == records


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x,ill\n1,yes\n\n2,yes,3\n", "line 4 has another number of cells than the header"),
        ("x,ill\n1,yes\n2,\n", "line 3 has no label"),
        ('x,ill\n1,yes\n"2,no\n', "line 3 is not CSV"),
        ("x,ill\n1,yes\n2,no\x1f\n" + '3,"a\nb"\n4\n', "line 6 has another number of cells"),
    ],
)
@pytest.mark.parametrize("block_bytes", [1, 2**19])
def test_refusals_name_the_line(tmp_path, monkeypatch, text, says, block_bytes):
    monkeypatch.setattr(csv_blocks, "_BLOCK_BYTES", block_bytes)
    path = tmp_path / "rows.csv"
    path.write_text(text)
    ours, records = read_both(path, monkeypatch, CsvDialect(), label="ill")
    assert says in ours
    assert ours == records


def test_bytes_that_are_no_text_are_refused_in_columns_left_out_too(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"x,note,ill\n1,\xff,yes\n")
    ours, records = read_both(path, monkeypatch, CsvDialect(), label="ill", ignore=("note",))
    assert "is not UTF-8 text" in ours
    assert ours == records


def test_a_file_of_plain_cells_is_read_in_blocks_to_its_end(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n1,2\n\n3.5,4\n")
    blocks = PlainBlocks(path, CsvDialect(), 1, 2)
    (block,) = blocks
    assert block.numbers([0, 1])[0].tolist() == [[1.0, 2.0], [3.5, 4.0]]
    assert block.lines.tolist() == [2, 4]
    assert blocks.offset == path.stat().st_size


def test_plain_numbers_are_those_of_float():
    chance = random.Random(3)
    texts = [
        chance.choice(["", "-", "+"])
        + "".join(chance.choices("0123456789", k=chance.randrange(9)))
        + chance.choice(["", "."])
        + "".join(chance.choices("0123456789", k=chance.randrange(17)))
        for _ in range(20_000)
    ]
    texts += [repr(chance.gauss(0, 10.0 ** chance.randrange(-5, 8))) for _ in range(5_000)]
    joined = ",".join(texts) + ","
    ends = np.cumsum([len(text) + 1 for text in texts]) - 1
    starts = ends - [len(text) for text in texts]
    points = np.where(["." in text for text in texts], starts + [text.find(".") for text in texts], ends)
    numbers, is_plain = read_plain_numbers(np.frombuffer(PADDING + joined.encode(), np.uint8), starts, points, ends)
    assert is_plain.mean() > 0.4
    for text, number, plain in zip(texts, numbers.tolist(), is_plain.tolist(), strict=True):
        if plain:
            assert number.hex() == float(text).hex(), text
        else:
            digits = text.strip("+-").replace(".", "")
            assert not digits.isdigit() or len(digits) > 15 or len(text.strip("+-").split(".")[0]) > 8, text
