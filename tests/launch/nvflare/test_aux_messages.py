"""The engine's auxiliary messages, by a stand-in of the engine's classes: nothing of NVIDIA FLARE is needed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hekat.channel.mailbox import UndeliveredError
from hekat.errors import ChannelError
from hekat.launch.nvflare.door import Door, SitePost

MODULE = "hekat.launch.nvflare.aux_messages"


class Shareable(dict):  # type: ignore[type-arg]
    def get_return_code(self) -> str:
        return str(self.get("rc", "OK"))


def make_reply(code: str) -> Shareable:
    return Shareable(rc=code)


@pytest.fixture
def aux(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    codes = SimpleNamespace(OK="OK", SERVICE_UNAVAILABLE="SERVICE_UNAVAILABLE")
    stand_ins = {
        "nvflare": {},
        "nvflare.apis": {},
        "nvflare.apis.fl_constant": {"ReturnCode": codes},
        "nvflare.apis.fl_context": {"FLContext": object},
        "nvflare.apis.shareable": {"Shareable": Shareable, "make_reply": make_reply},
    }
    for name, content in stand_ins.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    yield importlib.import_module(MODULE)
    sys.modules.pop(MODULE, None)


class Engine:
    """Carries requests to handlers by site; `answer` replaces what comes back."""

    def __init__(self, sites: dict[str, Engine], name: str) -> None:
        self.sites, self.answer, self.options = sites, ..., {}
        self.handler: Any = None
        sites[name] = self

    def register_aux_message_handler(self, topic: str, handler: Any) -> None:
        assert topic == "hekat.parcel"
        self.handler = handler

    def new_context(self) -> Any:
        return nullcontext("a context")

    def send_aux_request(self, targets: list[str], topic: str, request: Any, timeout: float, ctx: Any, **options: Any):
        self.options = {"timeout": timeout, **options}
        if self.answer is not ...:
            return self.answer
        return {site: self.sites[site].handler(topic, request, ctx) for site in targets}


class Box:
    def __init__(self) -> None:
        self.got: list[bytes] = []

    def accept(self, parcel: bytes) -> bytes:
        if parcel == b"bad":
            raise ChannelError("malformed")
        self.got.append(parcel)
        return b"receipt"


def test_a_parcel_is_delivered_and_its_receipt_comes_back(aux: Any) -> None:
    sites: dict[str, Engine] = {}
    door, box = Door(), Box()
    there = Engine(sites, "site-2")
    aux.AuxMessages(there, door)
    here = Engine(sites, "server")
    post = SitePost({"lake": "site-2"}, aux.AuxMessages(here, Door()).ask)
    with pytest.raises(UndeliveredError):  # nobody is in yet
        post.deliver("lake", b"early", 3.0)
    door.open(box)  # type: ignore[arg-type]
    assert post.deliver("lake", b"parcel", 3.0) == b"receipt"
    assert box.got == [b"parcel"]
    assert here.options == {"timeout": 3.0, "optional": True, "secure": False}
    with pytest.raises(UndeliveredError):  # refused without a traceback for the engine to log
        post.deliver("lake", b"bad", 3.0)


@pytest.mark.parametrize("code", ["COMMUNICATION_ERROR", "TIMEOUT", "TOPIC_UNKNOWN", "HANDLER_EXCEPTION"])
def test_every_failure_of_the_engine_is_undelivered(aux: Any, code: str) -> None:
    engine = Engine({}, "server")
    post = SitePost({"lake": "site-2"}, aux.AuxMessages(engine, Door()).ask)
    for answer in ({"site-2": make_reply(code)}, {}, None, {"site-2": "text"}, {"site-2": make_reply("OK")}):
        engine.answer = answer
        with pytest.raises(UndeliveredError):
            post.deliver("lake", b"parcel", 3.0)


@pytest.mark.parametrize("parcel", [None, "text", 7, bytearray(b"x")])
def test_what_is_no_parcel_is_not_let_in(aux: Any, parcel: object) -> None:
    engine, door, box = Engine({}, "site-2"), Door(), Box()
    aux.AuxMessages(engine, door)
    door.open(box)  # type: ignore[arg-type]
    assert engine.handler("hekat.parcel", Shareable(parcel=parcel), None).get_return_code() == "SERVICE_UNAVAILABLE"
    assert not box.got
