"""The package: what it needs, what it says when that is missing, what the wheel carries."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

import likewise
from likewise.cli.main import SERVICE
from likewise.errors import EXTRAS, LikewiseError, MissingLibraryError, absent
from studies.release import bill_of_materials, build_twice
from tests.made_once import made_once

ROOT = Path(__file__).parent.parent
PACKAGES = ("likewise", "likewise-client", "likewise-service")
SOURCE = ROOT / "packages/likewise/src/likewise"
PROJECTS = {
    name: tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text())["project"]
    for name in PACKAGES
}
PROJECT = PROJECTS["likewise"]

# Where each optional library is imported, and nowhere else.
HOMES = {
    "jinja2": {"audits/rendering.py", "simulate/report.py"},
    "llvmlite": {"learner/compiled/vectors.py"},
    "matplotlib": {"simulate/canvas.py"},
    "narwhals": {"people/frames.py"},
    "pyarrow": {"people/scans.py"},
    "sklearn": {"sklearn.py"},
    "mlflow": {"mlflow.py"},
    "numba": {"learner/compiled/vectors.py"},
    "scipy": {"simulate/programs.py"},
    "torch": {"learner/gpu.py"},
    "triton": {"learner/gpu.py"},
}
# Rooms that need numpy alone, as a library does.
CORE = ("hypotheses", "learner", "numerics", "panel", "people", "testing")
GAME = """
from likewise import Learner, State, deploy, learn
from likewise.simulate.game import Game
from likewise.simulate import play
from likewise.learner.oracle import compile_at_once
from likewise.simulate import Loans

compile_at_once()
world = Loans(seed=1)
learner = Learner(world.hypotheses(), k=8, alpha=0.3, eps=0.3, seed=7)
state, round_ = deploy(State.start(learner), world.encounter(1).people)
state = learn(state, round_, labels=world.encounter(1).labels.tolist(), report=None)
played = play(world, learner, 30)
self_tuned = Game("loans", "self-tuned", 3, 7).make_learner(world.hypotheses(), world.k)
drawn = play(world, self_tuned, 3, evaluation_draws=50)
print(json.dumps({
    "opened": state.opened,
    "lam": played.lam.tolist(),
    "wrong": played.wrong.tolist(),
    "drawn": [*drawn.lam.tolist(), *drawn.wrong.tolist(), *map(float, drawn.error)],
}))
"""


def imported(path: Path) -> set[str]:
    """The top-level packages that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def without(blocked: tuple[str, ...], program: str) -> Any:
    """Run a program in a new process in which some libraries cannot be found."""
    # A module that is None in sys.modules is to Python one that is not there.
    blocking = f"import json, sys\nsys.modules.update(dict.fromkeys({blocked!r}))\n"
    return subprocess.run(
        [sys.executable, "-c", blocking + program],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip


OPTIONAL = tuple(HOMES)


def test_every_optional_library_is_imported_in_one_place() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for library in imported(path) & set(HOMES):
            found[library].add(path.relative_to(SOURCE).as_posix())
    assert found == HOMES


def test_the_core_imports_nothing_but_numpy() -> None:
    allowed = {*sys.stdlib_module_names, "numpy", "likewise", *HOMES}
    paths = [*SOURCE.glob("*.py"), *(p for name in CORE for p in (SOURCE / name).rglob("*.py"))]
    for path in paths:
        assert imported(path) <= allowed, path


@pytest.mark.parametrize("name", ["likewise-client", "likewise-service"])
def test_a_package_declares_what_it_imports(name: str) -> None:
    """An old version of what brought it along may bring it no more, or not yet."""
    optional = PROJECTS[name].get("optional-dependencies", {}).values()
    listed = [*PROJECTS[name]["dependencies"], *(text for texts in optional for text in texts)]
    declared = {re.split(r"[\[>=<;]", text)[0].replace("-", "_").lower() for text in listed}
    # The library and the web framework are built on these, and hand out their objects.
    declared |= {"click", "numpy", "starlette"} if name == "likewise-service" else set()
    declared |= {"pkcs11"} if "python_pkcs11" in declared else set()
    source = ROOT / "packages" / name / "src"
    found = set().union(*(imported(path) for path in source.rglob("*.py")))
    assert found - sys.stdlib_module_names - declared == {name.replace("-", "_")}


def test_the_extras_are_those_that_the_messages_name() -> None:
    names = {
        extra: tuple(sorted(re.split(r"[\[>=<;]", wanted)[0] for wanted in listed))
        for extra, listed in PROJECT["optional-dependencies"].items()
    }
    for extra, libraries in EXTRAS.items():
        assert names[extra] == libraries
    # A GPU and MLflow are not everybody's.
    every = ",".join(name for name in names if name not in ("all", "gpu", "mlflow"))
    assert PROJECT["optional-dependencies"]["all"] == [f"likewise[{every}]"]


@pytest.mark.long
def test_a_game_without_any_optional_library_is_the_same_game() -> None:
    """The fold, the exact player and, on the reference engine, Context-FTPL."""
    program = "import json\n" + GAME
    bare = without((*OPTIONAL, "click", "rich"), program)
    full = without((), program)
    assert bare.returncode == full.returncode == 0, bare.stderr
    assert json.loads(bare.stdout) == json.loads(full.stdout)
    assert full.stderr == ""
    assert bare.stderr.count("SlowEngine: The compiled engine needs numba. Install it with:") == 1


@pytest.mark.long
def test_a_learner_that_was_saved_as_compiled_loads_without_numba(tmp_path: Path) -> None:
    program = f"""
from likewise import Learner, State, deploy, load_state, save_state
from likewise.learner.oracle import compile_at_once
from likewise.simulate import Loans
from pathlib import Path
compile_at_once()
world, path = Loans(seed=1), Path({str(tmp_path / "s")!r})
if not path.exists():
    learner = Learner(world.hypotheses(), 8, 0.3, 0.3, 7, player="context-ftpl")
    save_state(State.start(learner), path)
state = load_state(path)
print(state.learner.engine, deploy(state, world.encounter(1).people)[1].units.tolist())
"""
    compiled, reference = without((), program), without(("numba",), program)
    assert compiled.stdout.startswith("compiled [")
    assert reference.stdout == compiled.stdout


def cli(blocked: tuple[str, ...], *arguments: str) -> Any:
    return without(blocked, f"from likewise.cli import main\nmain({list(arguments)!r})")


@pytest.mark.long
def test_the_command_line_says_once_that_it_is_slow() -> None:
    args = ["simulate", "--learner", "self-tuned", "--rounds", "2", "--no-comparator"]
    long = (
        "from likewise.cli import main\nfrom likewise.learner.oracle import compile_at_once\n"
        f"compile_at_once()\nmain({args!r})"
    )
    slow = without(("numba",), long)
    assert slow.returncode == 0
    assert slow.stderr == (
        "Note: The compiled engine needs numba. Install it with: pip install 'likewise[fast]'. "
        "Until then the reference engine makes the draws: the same ones, slower.\n"
    )
    assert without((), long).stderr == ""
    # A short game is as fast without numba.
    assert cli(("numba",), *args).stderr == ""


def test_work_in_several_processes_says_it_once_too(tmp_path: Path) -> None:
    """Other processes know nothing of sys.modules here, so numba is hidden behind a broken one."""
    (tmp_path / "numba.py").write_text("raise ImportError('this numba is broken')")
    (tmp_path / "work.py").write_text(
        "from likewise.simulate.parallel import Processes\n"
        "from likewise.learner.oracle import load_engine\n"
        "def engine(name):\n"
        "    return load_engine(name).__name__\n"
        "if __name__ == '__main__':\n"
        "    print(*Processes(2).map(engine, [('compiled',)] * 4))\n"
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "work.py")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, timeout=250, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["likewise.learner.reference"] * 4, done.stderr
    assert done.stderr.count("SlowEngine: The compiled engine needs numba, which cannot be") == 1
    assert "imported (this numba is broken). Install it with: pip install" in done.stderr


def test_what_is_missing_is_named_with_the_command_that_installs_it() -> None:
    result = without(("scipy",), "from studies.commands import main\nmain(['sweep', 'x'])")
    assert result.returncode == 1
    assert "The best fair policy in hindsight needs scipy. Install" in result.stderr
    assert "Traceback" not in result.stderr


BARE = (*OPTIONAL, "pandas", "polars", "pyarrow", "joblib", "distributed")


def test_a_bare_installation_simulates_without_the_comparators_and_says_so() -> None:
    done = cli(BARE, "simulate", "--rounds", "5", "--out", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["rounds"], found["regret"]) == (5, None)
    (note,) = [line for line in done.stderr.splitlines() if "left out" in line]
    assert "needs scipy. Install it with: pip install 'likewise[study]'" in note


def test_a_bare_installation_shows_the_demo_without_its_report(tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    done = cli(BARE, "demo", "--rounds", "8", "--out", str(page))
    assert done.returncode == 0, done.stderr
    assert "accuracy-only" in done.stdout
    assert "Best fixed policies" not in done.stdout
    assert "pip install 'likewise[fast,study]'" in done.stderr
    assert not page.exists()


def test_a_bare_installation_audits_without_the_page_and_the_price(tmp_path: Path) -> None:
    (tmp_path / "panel.toml").write_text(
        'rule = "any"\n[[auditors]]\nname = "banker"\n'
        'distance = { metric = "weighted-l1", weights = { income = 0.5, purpose = 0.5 } }\n'
    )
    rows = [f"{10 + i},{'car' if i % 2 else 'home'},{i % 7 / 7},{i % 3 % 2}" for i in range(40)]
    (tmp_path / "scores.csv").write_text("\n".join(["income,purpose,score,repaid", *rows]) + "\n")
    arguments = (
        "audit", str(tmp_path / "scores.csv"), "--panel", str(tmp_path / "panel.toml"), "--label",
        "repaid", "--out", "-",
    )  # fmt: skip
    page = tmp_path / "page.html"
    bare, full = cli(BARE, *arguments, "--out", str(page)), cli((), *arguments)
    assert bare.returncode == full.returncode == 0, bare.stderr
    assert not page.exists()
    assert bare.stderr.count("pip install 'likewise[audit]'") == 1
    found, expected = json.loads(bare.stdout), json.loads(full.stdout)
    assert found["price"] is None
    assert found["reported"] == expected["reported"]
    assert found["worst"] == expected["worst"]


@pytest.mark.parametrize(
    "module",
    ["audits.report", "simulate.canvas", "simulate.report", "simulate.programs", "sklearn",
     "mlflow", "learner.compiled.vectors"],
)  # fmt: skip
def test_a_module_of_an_optional_library_refuses_as_likewise_does(module: str) -> None:
    program = (
        "from likewise.errors import LikewiseError\n"
        f"try:\n    import likewise.{module}\nexcept LikewiseError as error:\n    print(error)\n"
    )
    assert "pip install 'likewise[" in without(OPTIONAL, program).stdout


def test_a_page_to_judge_on_needs_no_library_that_draws() -> None:
    done = without(
        ("matplotlib",),
        "from likewise.audits import judging_page\nfrom likewise.people import *\n"
        "people = FeatureSchema((Feature('age'),)).people([[20], [30]], ids=['ann', 'bo'])\n"
        "print(judging_page(people, [('ann', 'bo')]))",
    )
    assert "</html>" in done.stdout, done.stderr


def test_a_bare_installation_has_help_and_all_names_but_the_estimator() -> None:
    done = without(
        BARE,
        "import likewise, pydoc\nfrom likewise import *\n"
        "print(pydoc.plain(pydoc.render_doc(likewise)))\n"
        "print(audit)\nfrom likewise import LikewiseClassifier",
    )
    assert "class SelfTuned" in done.stdout
    assert "The estimator needs scikit-learn. Install it with" in done.stderr.splitlines()[-1]


def test_the_demo_is_given_all_that_its_packages_need() -> None:
    """Pins of a lock: roots, what they bring, both entries of a package with two; no more."""
    from studies.scripts.pins import pins

    lock = "\n".join(
        (
            "# made by hand",
            "a==1 ; python_version < '3.12' \\", "    --hash=sha256:0", "    # via", "    #   b",
            "    #   other",
            "a==2 ; python_full_version >= '3.12' \\", "    --hash=sha256:1", "    # via b",
            "b==1 \\", "    --hash=sha256:2", "    # via root",
            "other==1 \\", "    --hash=sha256:3",
            "root==1 \\", "    --hash=sha256:4", "",
        )
    )  # fmt: skip
    kept = pins(lock, {"root"})
    assert re.findall(r"^(\w+)==(\d)", kept, re.M) == [
        ("a", "1"),
        ("a", "2"),
        ("b", "1"),
        ("root", "1"),
    ]
    assert "sha256:3" not in kept
    with pytest.raises(SystemExit, match="has no absent"):
        pins(lock, {"absent"})


def test_a_missing_library_is_an_error_of_ours_and_of_importing() -> None:
    assert issubclass(MissingLibraryError, LikewiseError)
    assert issubclass(MissingLibraryError, ImportError)
    assert absent("fast") == []


def test_the_three_packages_have_one_version() -> None:
    for name, project in PROJECTS.items():
        assert "version" in project["dynamic"]
        module = import_module(name.replace("-", "_"))
        assert module.__version__ == likewise.__version__
    shown = without((), "from likewise.cli import main\nmain(['--version'])").stdout
    assert shown == f"likewise, version {likewise.__version__}\n"


def test_the_commands_of_the_service_are_those_that_the_message_names() -> None:
    points = PROJECTS["likewise-service"]["entry-points"]["likewise.commands"]
    assert set(points) == set(SERVICE)
    for point in points.values():
        module, _, attribute = point.partition(":")
        assert isinstance(getattr(import_module(module), attribute), click.Command)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels, built from copies, so that nothing is left in the project's folder."""
    out, built = made_once(tmp_path_factory, "wheels", build), {}
    for name in PACKAGES:
        (built[name],) = out.glob(f"{name.replace('-', '_')}-[0-9]*.whl")
    return built


def build(out: Path) -> None:
    kept = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    copies = [out / "source" / name for name in PACKAGES]
    for name, copy in zip(PACKAGES, copies, strict=True):
        shutil.copytree(ROOT / "packages" / name, copy, ignore=kept)
    options = ("--no-deps", "--no-build-isolation", "-w", str(out))
    pip(sys.executable, "wheel", *options, *map(str, copies))


def pip(python: str | Path, *arguments: str) -> None:
    """One pip serves every environment: none of them has to have it."""
    command = [
        sys.executable, "-m", "pip", "--python", str(python), *arguments, "--quiet",
        "--disable-pip-version-check",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_carries_what_it_renders_and_a_page_without_links(
    wheels: dict[str, Path], name: str
) -> None:
    with zipfile.ZipFile(wheels[name]) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        page = archive.read(metadata).decode()
    source = ROOT / "packages" / name / "src"
    # Whatever lies beside the code is there for it: all of it, wherever it is.
    beside = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path)
    }
    assert f"{name.replace('-', '_')}/py.typed" in beside
    assert beside <= set(names), sorted(beside - set(names))
    assert not re.search(r"\]\(|<a |\]: ", page)
    assert "docs/" not in page
    (bill,) = (name for name in names if "/sboms/" in name)
    with zipfile.ZipFile(wheels[name]) as archive:
        assert archive.read(bill).decode() == bill_of_materials(name)


def test_all_metadata_name_one_address() -> None:
    for project in PROJECTS.values():
        assert project["urls"] == PROJECT["urls"]
    home = PROJECT["urls"]["Homepage"]
    assert all(url.startswith(home) for url in PROJECT["urls"].values())
    assert f'url: "{home}"' in (ROOT / "CITATION.cff").read_text()


def test_the_image_and_the_chart_are_of_this_version_and_of_the_lock() -> None:
    chart = (ROOT / "deploy/chart/Chart.yaml").read_text()
    assert f"\nversion: {likewise.__version__}\n" in chart
    assert f'appVersion: "{likewise.__version__}"' in chart
    pinned = {
        name: set(re.findall(r"^[a-z][^ ]*==[^ ]+", (ROOT / name).read_text(), re.MULTILINE))
        for name in ("deploy/requirements.txt", "requirements.lock")
    }
    assert len(pinned["deploy/requirements.txt"]) > 20
    assert pinned["deploy/requirements.txt"] <= pinned["requirements.lock"]


@pytest.mark.long
def test_two_builds_have_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    build_twice(tmp_path)
    assert len(list(tmp_path.iterdir())) == 6


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_client_and_the_service_work_in_environments_of_their_own(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    client = environment(tmp_path / "client")
    install(client, str(wheels["likewise-client"]))
    listed = subprocess.run(
        [str(client), "-c", "import likewise_client, importlib.metadata as m\n"
         "print(*sorted(d.name for d in m.distributions()))"],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert not {"likewise", "numpy", "pydantic", "cryptography"} & set(listed.stdout.split())
    service = client  # with the others beside it
    install(service, *(str(wheel) for wheel in wheels.values()))
    program = str(service.parent / "likewise")
    started = subprocess.run(
        [program, "serve", "--help"], capture_output=True, text=True, timeout=100, check=False
    )
    assert started.returncode == 0, started.stderr
    pip(service, "uninstall", "-y", "likewise-service")
    refused = subprocess.run(
        [program, "serve"], capture_output=True, text=True, timeout=100, check=False
    )
    assert refused.returncode == 1
    assert "pip install likewise-service" in refused.stderr


def size_of(folder: Path) -> str:
    total = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
    return f"{total / 1e6:,.0f} MB"


def environment(folder: Path) -> Path:
    venv.create(folder)
    return folder / "bin" / "python"


def install(python: Path, *wanted: str) -> None:
    """What is never imported need not be compiled."""
    pip(python, "install", "--no-compile", *wanted)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_wheel_works_in_an_empty_environment(
    wheels: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With numpy alone: import, fold and play; with extras: the demo. Both sizes are printed."""
    wheel = wheels["likewise"]
    python = environment(tmp_path / "env")
    before = size_of(tmp_path / "env")
    install(python, "numpy")
    install(python, "--no-deps", str(wheel))
    played = subprocess.run(
        [str(python), "-c", "import json\n" + GAME], cwd=tmp_path,
        capture_output=True, text=True, timeout=250, check=False,
    )  # fmt: skip
    assert played.returncode == 0, played.stderr
    assert json.loads(played.stdout) == json.loads(without((), "import json\n" + GAME).stdout)

    bare = size_of(tmp_path / "env")
    install(python, f"{wheel}[fast,study]")
    demo = subprocess.run(
        [str(python.parent / "likewise"), "demo", "--rounds", "16", "--out", "demo.html"],
        cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert demo.returncode == 0, demo.stderr
    assert (tmp_path / "demo.html").read_text().count("<svg ") == 3
    with capsys.disabled():
        print(
            f"\nSizes: an empty environment {before}; with numpy and likewise "
            f"{bare}; with likewise[fast,study] {size_of(tmp_path / 'env')}"
        )


TEN_LINES = """
import time, numpy as np, {library} as frames
started = time.perf_counter()
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from likewise import FeatureSchema, MetricAuditor, Panel, Pool, audit
from likewise.panel import FromColumns
x = np.random.default_rng(1).uniform(0, 100, (500, 2))
frame = frames.DataFrame({{"income": x[:, 0], "debt": x[:, 1]}})
labels = (x[:, 0] > x[:, 1]).astype(int)
models = {{"line": LogisticRegression().fit(x, labels),
          "tree": DecisionTreeClassifier(max_depth=3).fit(x, labels)}}
schema = FeatureSchema.from_frame(frame)
pool = Pool.from_models(models, frame, cuts=10, schema=schema)
near = FromColumns(lambda a, b: np.minimum(1, abs(a["income"] - b["income"]) / 100))
panel = Panel([MetricAuditor("auditor", near)], "any")
found = audit(schema.people(frame), models["line"].predict_proba(x)[:, 1], panel, alpha=0.2,
              labels=labels)
found.to_html("audit.html")
print(found.reported.value, pool.size, type(found.to_frame()).__module__.split(".")[0],
      round(time.perf_counter() - started, 1))
"""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_ten_lines_from_an_empty_directory(wheels: dict[str, Path], tmp_path: Path) -> None:
    """The wheel with its extras, a frame, two fitted models and a callable auditor.

    With polars alone, and then with pandas beside it: a frame comes back as it went in.
    """
    python = environment(tmp_path / "env")
    for library in ("polars", "pandas"):
        install(python, f"{wheels['likewise']}[audit,models]", library)
        done = subprocess.run(
            [str(python), "-c", TEN_LINES.format(library=library)], cwd=tmp_path,
            capture_output=True, text=True, timeout=280, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        reported, size, module, seconds = done.stdout.split()
        assert int(reported) > 0
        assert int(size) > 10
        assert module == library
        assert "<svg" in (tmp_path / "audit.html").read_text()
        (tmp_path / "audit.html").unlink()
        print(f"{library}: {seconds} s")
