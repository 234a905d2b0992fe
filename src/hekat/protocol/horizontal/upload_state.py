"""What a role keeps on disk so that no upload number is used twice and no two sets of one step are opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hekat.protocol.horizontal.opening.release_record import ReleaseRecord
from hekat.state import Counter
from hekat.state.disk_errors import disk_errors_as_state_errors

UPLOADS_FILE = "uploads.counter"
RELEASES_FILE = "releases.record"


@dataclass(frozen=True)
class UploadState:
    """A role's open counter of upload numbers and its record of releases, for runs of one job."""

    uploads: Counter
    releases: ReleaseRecord
    job_digest: bytes


def open_upload_state(folder: Path, job_digest: bytes) -> UploadState:
    """The state in `folder`, made where there is none. Close `uploads` at the end.

    Raises StateError where one of the two files is missing or damaged, or another run has them open.
    """
    with disk_errors_as_state_errors(f"the state folder {folder} cannot be made"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    counter_path, record_path = folder / UPLOADS_FILE, folder / RELEASES_FILE
    is_new = not counter_path.exists() and not record_path.exists()
    releases = ReleaseRecord.create(record_path) if is_new else ReleaseRecord.open(record_path)
    uploads = Counter.create(counter_path) if is_new else Counter.open(counter_path)
    return UploadState(uploads, releases, job_digest)
