"""Where a party process listens, and how both ends make sure that nobody else could: by who may write to the folder.

A courier hands a plain update to whoever made the socket. So the socket lies in a folder of the party process's own
user, which a courier reaches only by folders where no other user could put one in its place.
"""

from __future__ import annotations

import errno
import grp
import logging
import os
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import InputError, PolicyError, StateError
from hekat.launch.unix_socket import bind_private, check_path

_log = logging.getLogger("hekat.flower")
_ROOT = 0
_CREDENTIALS = struct.Struct("iII")  # Linux: process, user, group


def listen_at(path: Path, group: str | None) -> socket.socket:
    """A listening socket that this user may connect to (mode 600), and `group` if there is one (mode 660).

    Raises InputError for a path too long, a group that is none, or a folder that is not safe; StateError where no
    socket can be made.
    """
    check_path(path)
    group_id = None if group is None else _id_of(group)
    with disk_errors_as_state_errors(f"no socket can be made at {path}"):
        _check_own_folder(path.parent)
        _remove_left_over(path)
        listener = bind_private(path)
        try:
            if group_id is not None:
                os.chown(path, -1, group_id)
                path.chmod(0o660)
            listener.listen(4)
        except BaseException:
            listener.close()
            raise
    return listener


def check_way(path: Path) -> None:
    """Raise PolicyError where any user could have put a socket of their own at `path`, OSError where it has no folder.

    Without the path: the engine tells its server what an app raises.
    """
    found = _open_folder(path.parent)
    if found is not None:
        _log.error("everybody may write to %s, on the way to the party process's socket", found)
        raise PolicyError(
            "any user of this machine can put a socket in the place of the party process's",
            expected="a socket in a folder of the party process's user, under folders that not everybody may write to",
            got="a folder on its path that everybody may write to",
            cure="have hekat party make its socket in a folder such as /run/hekat, and name it in --node-config",
        )


def check_listener(connection: socket.socket, path: Path) -> None:
    """Raise PolicyError unless the process that listens at `path` is one of the folder's owner, or of root."""
    size = _CREDENTIALS.size
    _, user, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    if user not in (path.parent.stat().st_uid, _ROOT):
        raise PolicyError(
            "another user's process listens at the socket of the party process",
            expected="a process of the user who owns the socket's folder",
            got="another user's",
            cure="give the folder to the user of hekat party, and end what listens there",
        )


def _check_own_folder(folder: Path) -> None:
    """Raises InputError where others could take the socket's place, or a courier would not trust it; OSError."""
    found = _open_folder(folder)
    if found is not None:
        raise InputError(
            "any user of this machine could put a socket in the place of this one, and get this site's updates",
            expected="a socket in a folder of this user, under folders that not everybody may write to",
            got=f"{found}, mode {stat.S_IMODE(found.stat().st_mode):o}",
            cure="name a socket in a folder such as /run/hekat, made for this: mkdir --mode 750",
        )
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        raise InputError(
            "the socket's folder belongs to another user, and couriers take its owner for the party process",
            expected=f"a folder of user {os.geteuid()}, who starts this process",
            got=f"{folder}, of user {owner}",
            cure="give the folder to this user (chown), or name another one",
        )


def _open_folder(folder: Path) -> Path | None:
    """The first folder on the way to `folder`, or itself, in which any user could put in something else; None for none.

    In one where users may only replace what is theirs (the sticky bit, as /tmp has it), what leads on has to belong to
    this user or to root: another one may have been there first. Raises OSError.
    """
    trusted = (_ROOT, os.geteuid())
    for above, entry in _steps_to(folder):
        mode = above.stat().st_mode
        is_sticky = bool(mode & stat.S_ISVTX) and entry.lstat().st_uid in trusted
        if mode & stat.S_IWOTH and not is_sticky:
            return above
    return folder if folder.stat().st_mode & stat.S_IWOTH else None


def _steps_to(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Each folder on the way from the root, with its entry that leads on, and those behind symbolic links too."""
    folder.stat()  # raises for links in a circle
    above, left = Path("/"), list(reversed(folder.absolute().parts[1:]))
    while left:
        name = left.pop()
        entry = above.parent if name == ".." else above / name
        if name != "..":
            yield above, entry
        if entry.is_symlink():
            target = entry.readlink()
            left += reversed([part for part in target.parts if part != target.anchor])
            above = Path("/") if target.is_absolute() else above
        else:
            above = entry


def _id_of(group: str) -> int:
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        raise InputError(
            "no such group",
            expected="a group of this machine",
            got=repr(group),
            cure="give --group a group's name",
        ) from None


def _remove_left_over(path: Path) -> None:
    """A socket that nobody listens at any more. Raises StateError for one that somebody does, and for other files."""
    if not path.exists() and not path.is_symlink():
        return
    with socket.socket(socket.AF_UNIX) as asking:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
        # Another user's socket answers with a refusal of rights, and somebody listens at it.
        if is_socket and asking.connect_ex(str(path)) == errno.ECONNREFUSED:
            path.unlink()
            return
    raise StateError(
        f"{path} is taken",
        expected="no file, or the socket of a process that has ended",
        got="a process that listens there" if is_socket else "another file",
        cure="end the other process, or name another path",
    )
