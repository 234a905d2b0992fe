"""Texts of other organisations on the terminal: no escape sequence and no forged line gets through; defects say so."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest

from hekat.cli import doctor_command
from hekat.cli.run import horizontal as run_horizontal
from hekat.job.section import control_character
from hekat.printable import printable

ESCAPE = "\x1b]0;pwn\x07\x1b[31mred"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünï 一", "plain ünï 一"),
        ("\x1b[31m", r"\x1b[31m"),
        ("a\nb\tc\r", r"a\x0ab\x09c\x0d"),
        ("\u202eevil\x9b", r"\u202eevil\x9b"),
        ("\U000e0001", r"\U000e0001"),
        ("\udcff", r"\udcff"),
    ],
)
def test_what_is_not_printable_is_shown_as_its_code(text, shown) -> None:
    assert printable(text) == shown


def test_line_breaks_stay_where_they_are_meant() -> None:
    assert printable("a\nb\x1b", keep="\n") == "a\nb\\x1b"


@pytest.mark.parametrize(
    ("pattern", "replacement", "key"),
    [
        (r"classes = .*", r'classes = ["\\u001b[31m", "yes"]', "classes"),
        (r'"visits"', r'"\\u001b[31m"', "data"),
        (r'"clinics"', r'"a\\nb"', "name"),
        (r'"clinics"', r'"\\u202eevil"', "name"),
        (r'"horizontal"', r'"\\u001b[31m"', "protocol"),
        (r'kind = "lattice"', r'kind = "\\u001b[31m"', "protection.kind"),
        (r"^weight_max", '"\\\\\\\\u001b[31m" = 1\nweight_max'.replace("\\\\\\\\", "\\\\"), "is not a setting"),
    ],
)
def test_control_characters_in_a_job_are_refused(pattern, replacement, key, workplace) -> None:
    workplace.edit("job.toml", pattern, replacement)
    answer = workplace.run()
    assert answer.code == 2
    assert key in answer.err.splitlines()[0]
    assert "\x1b" not in answer.err
    assert "\u202e" not in answer.err
    assert workplace.folders() == []


def test_control_characters_are_those_of_unicode() -> None:
    for char in map(chr, range(0x3000)):
        steers = unicodedata.category(char) in ("Cc", "Zl", "Zp")
        turns = unicodedata.bidirectional(char) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        assert control_character(f"a{char}") == (char if steers or turns else ""), hex(ord(char))


def test_control_characters_in_a_site_are_refused(workplace) -> None:
    workplace.edit("site.toml", r"\[party.east.data", '[party."\\\\u001b[31m".data')
    answer = workplace.run()
    assert answer.code == 2
    assert "a name under party holds a control character" in answer.err
    assert "U+001B" in answer.err


@pytest.mark.long
def test_a_report_of_a_summary_with_escapes(workplace) -> None:
    assert workplace.run().code == 0
    (folder,) = workplace.folders()
    path = folder / "summary.json"
    summary = json.loads(path.read_text())
    summary["job"] = ESCAPE
    summary["notes"].append(ESCAPE + "\nforged")
    summary["results"][0]["name"] = ESCAPE
    summary["parties"][0]["name"] = ESCAPE
    summary["aggregator_saw"].append(ESCAPE)
    path.write_text(json.dumps(summary))
    answer = workplace.call("report", folder)
    assert answer.code == 0
    assert "\x1b" not in answer.out + answer.err
    assert "\x07" not in answer.out + answer.err
    assert r"\x1b]0;pwn\x07\x1b[31mred" in answer.out
    assert not re.search(r"^forged", answer.out, re.MULTILINE)


@pytest.mark.long
def test_an_audit_of_files_with_escapes(workplace) -> None:
    assert workplace.run().code == 0
    (folder,) = workplace.folders()
    ledger, parties = folder / "ledger" / "east.jsonl", folder / "parties.json"
    content = ledger.read_text()
    ledger.write_text(content.replace("horizontal", "\\u001b[31mh", 1))
    answer = workplace.call("audit", folder)
    assert answer.code == 2
    assert "\x1b" not in answer.out + answer.err
    ledger.write_text(content)
    strange = folder / "ledger" / "\x1b[31m.jsonl"
    strange.write_text(content)
    answer = workplace.call("audit", folder)
    assert answer.code == 2
    assert r"\x1b[31m" in answer.err
    assert "\x1b" not in answer.out + answer.err
    strange.unlink()
    parties.write_text(json.dumps({"east": "\x1b[31m"}))
    assert "\x1b" not in workplace.call("audit", folder).err


def test_doctor_shows_variables_safely(workplace, monkeypatch) -> None:
    monkeypatch.setenv("HEKAT_THREADS", ESCAPE)
    assert "\x1b" not in workplace.call("doctor").out


@pytest.mark.parametrize("as_json", [False, True])
def test_an_unforeseen_exception_is_one_short_answer(as_json, workplace, monkeypatch) -> None:
    monkeypatch.delenv("HEKAT_DEBUG", raising=False)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret 42")

    monkeypatch.setattr(run_horizontal, "load_inputs", fail)
    answer = workplace.run(*(["--json"] if as_json else []))
    assert answer.code == 2
    text = answer.out if as_json else answer.err
    assert re.search(r"RuntimeError at test_printable\.py:\d+", text)
    assert "this is a defect in Hekat: please report it with the command" in text
    assert "42" not in re.sub(r"py:\d+", "", text)
    assert "Traceback" not in text
    if as_json:
        assert set(json.loads(text)) == {"error", "cure"}


def test_the_traceback_is_there_for_who_asks(workplace, monkeypatch) -> None:
    monkeypatch.setenv("HEKAT_DEBUG", "1")
    monkeypatch.setattr(doctor_command, "examine", lambda site: {}["none"])
    with pytest.raises(KeyError):
        workplace.call("doctor")
