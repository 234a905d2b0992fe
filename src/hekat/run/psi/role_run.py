"""One party of a set intersection, played over a channel on a machine of its own, and what it leaves in a folder."""

from __future__ import annotations

from contextlib import suppress

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.job.psi.job_file import PROTOCOL
from hekat.run.psi.load_inputs import IntersectionInputs
from hekat.run.psi.own_rows import INTERSECTION_FOLDER, save_own_rows
from hekat.run.psi.role import IntersectionContext, IntersectionRole
from hekat.run.role_folder import Place, alone_caveat, open_role_folder
from hekat.summary.psi.summary import summarise


def run_intersection_role(inputs: IntersectionInputs, place: Place) -> dict[str, object]:
    """Play the party that `inputs` were loaded for to its end; returns the summary of what it knows.

    Raises what the role raises; StateError where the disk takes no files.
    """
    job, role = inputs.job, place.role
    with open_role_folder(place, job.name, job.digest, PROTOCOL, job.settings.parties) as folder:
        if not job.settings.cardinality_only:
            with disk_errors_as_state_errors(f"{folder.path / INTERSECTION_FOLDER} could not be made"):
                (folder.path / INTERSECTION_FOLDER).mkdir(mode=0o700)
        played = IntersectionRole(
            IntersectionContext(
                job, role, folder.session, inputs.ids[role], inputs.compared[role], place.progress.reach
            )
        )
        try:
            found = played.play(place.channel)
        finally:
            with suppress(Exception):  # the role's own error matters, not its missing figures
                folder.write_result(played.result, PROTOCOL)
        save_own_rows(folder.path, role, inputs.ids[role], found)
        summary = summarise(
            job,
            folder.directory.run_id,
            {role: played.result},
            seconds=played.result.seconds,
            views=[folder.view_ledger()],
            more_caveats=[alone_caveat(role)],
            played="alone",
        )
        folder.write_summary(summary)
        folder.events.write("finished", seconds=played.result.seconds)
        return summary
