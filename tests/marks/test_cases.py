"""Tests marked `quick_cases`, `long_cases` or `quick_values` have some cases in the quick run, others in the long."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

INI = "[pytest]\nmarkers =\n long: slow\n quick_cases(*ids): some\n long_cases(*ids): some\n quick_values(**of): few\n"
CASES = """
import pytest
@pytest.mark.{mark}({named})
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("word", ["a", "b"])
def test_product(n, word): pass
def test_other(): pass
"""


def collected(pytester: pytest.Pytester, mark: str, named: str, *words: str) -> pytest.RunResult:
    pytester.makeini(INI)
    pytester.makepyfile(test_cases=CASES.format(mark=mark, named=named))
    return pytester.runpytest_inprocess("-p", "tests.marks.cases", "-q", "--collect-only", *words)


@pytest.mark.parametrize(
    ("which", "names"), [("not long", ["[a-1]", "[b-2]", "other"]), ("long", ["[a-2]", "[b-1]"])], ids=["quick", "long"]
)
@pytest.mark.parametrize(("mark", "named"), [("quick_cases", '"a-1", "b-2"'), ("long_cases", '"a-2", "b-1"')])
def test_named_cases_are_in_one_run_and_the_others_in_the_other_run(
    pytester: pytest.Pytester, which: str, names: list[str], mark: str, named: str
) -> None:
    lines = [line for line in collected(pytester, mark, named, "-m", which).outlines if "::" in line]
    assert [
        line.partition("test_product")[2] or line.partition("test_")[2].rpartition("_")[2] for line in lines
    ] == names


@pytest.mark.parametrize("named", ['"a-1", "c-1"', ""])
@pytest.mark.parametrize("mark", ["quick_cases", "long_cases"])
def test_a_mark_that_names_no_case_ends_the_run(pytester: pytest.Pytester, mark: str, named: str) -> None:
    answer = collected(pytester, mark, named)
    assert answer.ret == pytest.ExitCode.INTERRUPTED
    assert any("no cases of this test" in line for line in answer.outlines)


VALUES = """
import pytest
{module}
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(("word", "size"), [("a", 0), ("b", 0), ("b", 1)])
{above}
def test_product(n, word, size): pass
def test_other(): pass
"""


@pytest.mark.parametrize(
    ("above", "quick"),
    [
        ("", ["a-0-1", "b-0-2", "b-1-1"]),
        ("@pytest.mark.quick_values(n=2)", ["a-0-2", "b-0-2", "b-1-2"]),
        ("@pytest.mark.quick_cases('b-1-1')", ["b-1-1"]),
    ],
    ids=["of the file", "of a value", "named"],
)
def test_each_value_stays_quick_in_few_cases(pytester: pytest.Pytester, above: str, quick: list[str]) -> None:
    pytester.makeini(INI)
    pytester.makepyfile(test_cases=VALUES.format(module="pytestmark = pytest.mark.quick_values", above=above))
    answer = pytester.runpytest_inprocess("-p", "tests.marks.cases", "-q", "--collect-only", "-m", "not long")
    names = [line.partition("::test_")[2] for line in answer.outlines if "::" in line]
    assert names == [*(f"product[{case}]" for case in quick), "other"]
