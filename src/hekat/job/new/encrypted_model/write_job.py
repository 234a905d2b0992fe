"""Writes the files of a new job on an encrypted model, read back as `hekat run` would before they have their place."""

from __future__ import annotations

from pathlib import Path

from hekat.job.encrypted_model.job_file import load_encrypted_model_job
from hekat.job.encrypted_model.site_check import check_site_allows_encrypted_model
from hekat.job.new.encrypted_model.job_template import encrypted_model_job_text
from hekat.job.new.encrypted_model.new_job import NewEncryptedModelJob
from hekat.job.new.encrypted_model.site_template import encrypted_model_site_text
from hekat.job.new.write_files import JOB_FILE, SITE_FILE, write_files
from hekat.job.site_file import load_site


def write_encrypted_model_job(folder: Path, job: NewEncryptedModelJob) -> list[Path]:
    """Write job.toml and site.toml into `folder`; the paths of both.

    Raises StateError as `write_files`, and the error of the job or site file that the choices make; then nothing is
    written.
    """
    files = {JOB_FILE: encrypted_model_job_text(job).encode(), SITE_FILE: encrypted_model_site_text(job).encode()}
    return write_files(folder, files, _check)


def _check(folder: Path) -> None:
    job, site = load_encrypted_model_job(folder / JOB_FILE), load_site(folder / SITE_FILE)
    check_site_allows_encrypted_model(site, job)
