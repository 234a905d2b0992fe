"""docs/how_to/data_sources.md: its examples run as they stand, and its table of sources is what site files take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hekat.cli.main import main
from hekat.data import SOURCE_KINDS
from hekat.job.horizontal.job_file import load_job

DOCUMENT = (Path(__file__).parents[1] / "docs" / "how_to" / "data_sources.md").read_text(encoding="utf-8")


def blocks_of(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", DOCUMENT, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize("number", [0, 1], ids=["six sources", "sparse rows"])
def test_an_example_runs(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if number == 0:
        pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks_of("python")[number], "docs/how_to/data_sources.md", "exec"), {})
    files = [block for block in blocks_of("toml") if block.startswith("format")]
    job, site = files[2 * number : 2 * number + 2]
    (tmp_path / "job.toml").write_text(job + "\n[training]\nrounds = 1\n")
    (tmp_path / "site.toml").write_text(site)
    assert main(["run", "job.toml"]) == 0
    assert len(list(Path("runs").iterdir())) == 1


def test_the_description_of_columns_is_one(tmp_path: Path) -> None:
    job = next(block for block in blocks_of("toml") if block.startswith("format"))
    described = next(block for block in blocks_of("toml") if "[columns.education]" in block)
    (tmp_path / "job.toml").write_text(job + described)
    names = [name for spec in load_job(tmp_path / "job.toml").columns for name in spec.feature_names]
    assert names[-4:] == ["education=school", "education=college", "education=other", "days in hospital"]


def test_every_source_is_listed() -> None:
    listed = re.findall(r"^\| `(\w+)` \| `\w+`(?:,| or )", DOCUMENT, flags=re.MULTILINE)
    assert tuple(listed) == SOURCE_KINDS
