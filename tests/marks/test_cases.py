"""A test marked `quick_cases` or `long_cases` has some cases in the quick run and the others in the long one."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

CASES = """
import pytest
@pytest.mark.{mark}({named})
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("word", ["a", "b"])
def test_product(n, word): pass
def test_other(): pass
"""


def collected(pytester: pytest.Pytester, mark: str, named: str, *words: str) -> pytest.RunResult:
    pytester.makeini("[pytest]\nmarkers =\n long: slow\n quick_cases(*ids): some\n long_cases(*ids): some\n")
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
