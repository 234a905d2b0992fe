"""A job without the right to bring code runs none: the engine's own check of classes, by the list of allow_hekat.

The engine calls whatever has a name below an entry of the list, with the job's arguments: below "hekat." lies
`import_module`, and the folder of a job's own configuration can be imported.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nvflare", reason="needs hekat[nvflare]")

from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey, ProcessType
from nvflare.apis.fl_context import FLContext
from nvflare.apis.fl_exception import UnsafeComponentError
from nvflare.app_common.widgets.component_path_authorizer import ComponentPathAuthorizer
from nvflare.fuel.common.excepts import ComponentNotAuthorized, ConfigError
from nvflare.private.fed.client.client_json_config import ClientJsonConfigurator
from nvflare.private.fed.utils.fed_utils import authorize_build_component
from nvflare.recipe.sim_env import SimEnv
from tests.launch.jobs_apart import clinics
from tests.launch.nvflare.protected.apps import PARTIES, Sites
from tests.launch.nvflare.protected.test_components import a_recipe

from hekat.errors import JobError
from hekat.launch.nvflare.allow_list import ALLOW_LIST, COMPONENTS, read_resources
from hekat.launch.nvflare.controller import HekatController
from hekat.launch.nvflare.executor import HekatExecutor
from hekat.launch.nvflare.order import make_order
from hekat.launch.nvflare.protected.components import HekatAggregator, HekatParty, InstallModel
from hekat.launch.nvflare.protected.lean_filters import SendModelOnce, SpreadZeros
from hekat.nvflare import HekatRecipe, allow_hekat, protect

JOB_ID, SITE = "job_of_a_stranger", "north"
EXECUTOR = COMPONENTS[0]


class Site:
    """A site's installation, and a job that lies in it as the engine puts it there, with a module in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.local = folder, folder / "local"
        self.local.mkdir()
        self.config = folder / JOB_ID / f"app_{SITE}" / "config"
        self.config.mkdir(parents=True)
        self.proof = folder / "the job's code ran here"
        (self.config / "evil.py").write_text(f"open({str(self.proof)!r}, 'w').close()\n")

    def allow(self, *entries: str) -> None:
        (self.local / "resources.json").write_text(json.dumps({ALLOW_LIST: list(entries)}))

    def workspace(self) -> SimpleNamespace:
        def within(job_id: str) -> str:
            return str(self.config)

        return SimpleNamespace(
            get_resources_file_path=lambda: str(self.local / "resources.json"),
            get_app_custom_dir=within,
            get_app_config_dir=within,
        )

    def build(self, executor: dict[str, Any]) -> Any:
        """The executor that the engine makes of a job's configuration at this site. Raises what the engine raises."""
        content = {"format_version": 2, "executors": [{"tasks": ["hekat"], "executor": executor}]}
        path = self.config / "config_fed_client.json"
        path.write_text(json.dumps(content))
        names = {"client_name": SITE, "job_id": JOB_ID, "workspace": str(self.folder)}
        arguments = SimpleNamespace(sp_scheme="grpc", sp_target="localhost:1", **names)
        configurator = ClientJsonConfigurator(self.workspace(), str(path), arguments, str(self.config))
        context = FLContext()
        context.set_prop(FLContextKey.WORKSPACE_OBJECT, self.workspace(), private=True)
        context.set_prop(FLContextKey.CURRENT_JOB_ID, JOB_ID, private=True)
        context.set_prop(FLContextKey.JOB_META, {"name": "of a stranger"}, private=True)
        configurator.set_component_build_authorizer(authorize_build_component, fl_ctx=context, event_handlers=[])
        configurator.configure()
        return configurator.executors[0].executor


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.syspath_prepend(str(tmp_path))  # as in the engine's job process, which runs in that folder
    importlib.invalidate_caches()
    # What comes once all components are built belongs to the whole process.
    monkeypatch.setattr(ClientJsonConfigurator, "finalize_config", lambda configurator, context: None)
    return Site(tmp_path)


def a_job(folder: Path) -> Path:
    (folder / "apart").mkdir()
    return clinics(folder / "apart", 3, 'kind = "lattice"\nopening = "committee"').together / "job.toml"


def calling(name: str) -> dict[str, Any]:
    """A component that is none: a function, called with the name of the job's own module."""
    return {"path": name, "args": {"name": "{JOB_ID}.app_{SITE_NAME}.config.evil"}}


ATTACKS: dict[str, Callable[[str], dict[str, Any]]] = {
    "itself": calling,
    "as an argument": lambda name: {"path": EXECUTOR, "args": {"order": calling(name)}},
    "by class_path": lambda name: {
        "path": EXECUTOR,
        "args": {"order": {"class_path": name, "args": calling(name)["args"]}},
    },
    "two levels down": lambda name: {
        "path": EXECUTOR,
        "args": {"order": {"path": EXECUTOR, "args": {"order": calling(name)}}},
    },
    "beside a name in the arguments": lambda name: {
        "path": EXECUTOR,
        "args": {"path": EXECUTOR, "order": calling(name)},
    },
}


@pytest.mark.parametrize("name", ["hekat.import_module", "hekat.nvflare.import_module"])
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_function_of_hekat_imports_no_file_of_the_job(
    site: Site, name: str, attack: Callable[[str], dict[str, Any]]
) -> None:
    site.allow("nvflare.one.Class", "hekat.")
    with pytest.warns(UserWarning, match=r"'hekat\.'"):
        allow_hekat(site.local)
    with pytest.raises(ComponentNotAuthorized, match="not in allow_list"):
        site.build(attack(name))
    assert not site.proof.exists()


def test_by_the_prefix_it_would_run(site: Site) -> None:
    """So the test above cannot pass for another reason than the list."""
    site.allow("hekat.")
    with pytest.raises(TypeError, match="module is not JSON"):
        site.build(ATTACKS["as an argument"]("hekat.import_module"))
    assert site.proof.exists()


def test_a_job_of_hekat_is_built(site: Site, tmp_path: Path) -> None:
    allow_hekat(site.local)
    order = make_order(a_job(tmp_path)).to_arguments()
    built = site.build({"path": EXECUTOR, "args": {"order": order}})
    assert isinstance(built, HekatExecutor)
    assert built.order == order


def test_what_is_below_a_component_is_nothing_to_call(site: Site) -> None:
    """The engine lets a job name what lies below a listed class; Python finds no module there."""
    allow_hekat(site.local)
    for name in COMPONENTS:
        with pytest.raises(ConfigError, match="Can't load class"):
            site.build({"path": f"{name}.from_arguments", "args": {}})


def test_names_beside_a_component_are_refused(site: Site) -> None:
    allow_hekat(site.local)
    authorizer, workspace = ComponentPathAuthorizer(), site.workspace()
    for name in COMPONENTS:
        authorizer.authorize_component_config({"path": name}, workspace=workspace)
        module = importlib.import_module(name.rpartition(".")[0])
        for other in {f"{module.__name__}.{one}" for one in vars(module)} - set(COMPONENTS):
            with pytest.raises(UnsafeComponentError):
                authorizer.authorize_component_config({"path": other}, workspace=workspace)
        with pytest.raises(UnsafeComponentError):
            authorizer.authorize_component_config({"path": f"{name}Other"}, workspace=workspace)


def test_the_list_is_what_jobs_name_and_nothing_else_of_hekat(tmp_path: Path) -> None:
    HekatRecipe(a_job(tmp_path)).export(str(tmp_path / "own"))
    sites = Sites(tmp_path / "sites")
    (tmp_path / "job.toml").write_bytes(sites.order(rounds=2).job_text)
    for folder, asked in {
        "protected": {"job": tmp_path / "job.toml"},
        "learns": {"parties": PARTIES, "server_learns_model": True},
    }.items():
        recipe = a_recipe(tmp_path)
        protect(recipe, **asked)
        recipe.export(str(tmp_path / folder))
    named = {
        name
        for path in [*tmp_path.rglob("config_fed_client.json"), *tmp_path.rglob("config_fed_server.json")]
        for name in _paths_in(json.loads(path.read_text()))
    }
    assert {name for name in named if name.startswith("hekat")} == set(COMPONENTS)
    assert len(set(COMPONENTS)) == len(COMPONENTS)


def _paths_in(element: Any) -> set[str]:
    if isinstance(element, dict):
        own = {element["path"]} if isinstance(element.get("path"), str) else set()
        return own.union(*map(_paths_in, element.values()))
    return set().union(*map(_paths_in, element)) if isinstance(element, list) else set()


def test_a_simulator_that_allowed_more_allows_less_from_then_on(tmp_path: Path) -> None:
    """Its folder outlives a run."""
    recipe = a_recipe(tmp_path)
    app = protect(recipe, parties=PARTIES)
    local = tmp_path / recipe.name / "local"
    local.mkdir(parents=True)
    (local / "resources.json").write_text(json.dumps({ALLOW_LIST: ["hekat."]}))
    with (
        pytest.warns(UserWarning, match=r"'hekat\.'"),
        app._environment.prepared(SimEnv(clients=PARTIES, workspace_root=str(tmp_path))),
    ):
        assert read_resources(local)[ALLOW_LIST] == list(COMPONENTS)


@pytest.mark.parametrize("order", [None, "text", ["job"], {"job": 7}, {"sites": {"north": ["a"]}}, {"job": object()}])
@pytest.mark.parametrize(
    "component", [HekatExecutor, HekatController, HekatAggregator, lambda order: HekatParty(order, "train")]
)
def test_a_component_takes_no_order_but_of_texts(component: Callable[[object], object], order: object) -> None:
    with pytest.raises(JobError, match="an order of texts"):
        component(order)


def test_a_party_protects_a_task_by_its_name_alone() -> None:
    with pytest.raises(JobError, match="no task"):
        HekatParty({}, ["train"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "found", [None, SimpleNamespace(model_shapes={}, install=lambda *given: "the task as it came")]
)
@pytest.mark.parametrize("made", [InstallModel, SendModelOnce, SpreadZeros])
def test_a_filter_speaks_to_the_component_of_hekat_or_to_none(made: Callable[[], Any], found: object) -> None:
    context = FLContext()
    context.get_engine = lambda: SimpleNamespace(get_component=lambda name: found)
    with pytest.raises(RuntimeError, match="the job has no Hekat"):
        made().process(DXO(DataKind.WEIGHTS, data={"w": 1}).to_shareable(), context)


@pytest.mark.parametrize(
    ("component", "process"),
    [(HekatAggregator({}), ProcessType.CLIENT_JOB), (HekatParty({}, "train"), ProcessType.SERVER_JOB)],
    ids=["the aggregator at a client", "a party at the server"],
)
def test_a_component_plays_at_its_own_end_alone(component: Any, process: str) -> None:
    context, told = FLContext(), []
    context.set_prop(FLContextKey.PROCESS_TYPE, process, private=True)
    component.system_panic = lambda reason, fl_ctx: told.append(reason)
    component.handle_event(EventType.START_RUN, context)
    assert len(told) == 1
    assert component._process is None
