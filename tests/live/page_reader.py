"""Reads the page of a role from the file in which its address stands, to its end."""

from __future__ import annotations

import http.client
import json
import stat
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

WITHIN_S = 120


class Reader:
    """A reader of one page, from the moment that its address stands in `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mode, self.without, self.states = 0, 0, []  # type: ignore[var-annotated]
        self._thread: Thread | None = None

    def look(self) -> None:
        """Begin to read if the page is there."""
        if self._thread is None and self.path.exists():
            self.mode = stat.S_IMODE(self.path.stat().st_mode)
            address, _, token = self.path.read_text().strip().partition("#")
            assert (urlsplit(address).hostname, bool(token)) == ("127.0.0.1", True)
            self.without = self._ask(address, "/state", "another").status
            self._thread = Thread(target=self._read, args=(address, token), daemon=True)
            self._thread.start()

    def wait(self) -> list[dict[str, Any]]:
        """All states that the page told, once it is gone."""
        assert self._thread is not None
        self._thread.join(WITHIN_S)
        assert not self._thread.is_alive()
        return self.states

    def _ask(self, address: str, path: str, token: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=WITHIN_S)
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse()

    def _read(self, address: str, token: str) -> None:
        lines = self._ask(address, "/events", token).read().decode().splitlines()
        self.states += [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


def check_told(reader: Reader, role: str, rounds: int) -> dict[str, Any]:
    """The last state, in which the role has played to its end."""
    last = reader.wait()[-1]
    assert (reader.mode, reader.without, reader.path.exists()) == (0o600, 401, False)
    assert (last["status"], last["run"]["own_roles"]) == ("finished", [role])
    assert [one["number"] for one in last["rounds"]][-1] == rounds
    assert last["ledger"][0]["direction"] == "closed"
    assert {line["role"] for line in last["ledger"]} == {role}
    return last
