"""The documentation tells the truth: its commands run, its links lead somewhere."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from likewise.cli import main
from studies.commands import main as studies

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    path
    for pattern in ("*.md", "docs/**/*.md", "packages/*/README.md")
    for path in sorted(ROOT.glob(pattern))
]
SOURCES = sorted((ROOT / "packages").rglob("*.py"))
# Every folder of modules, such as likewise/panel.
FOLDERS = sorted(
    path.parent.as_posix().rpartition("/src/")[2]
    for path in (ROOT / "packages").rglob("__init__.py")
)


def _path(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def shell_commands() -> list[str]:
    text = "\n".join(path.read_text() for path in DOCUMENTS)
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("command", shell_commands())
def test_every_command_in_the_documentation_runs(command: str) -> None:
    words = shlex.split(command, comments=True)
    assert words[0] == "likewise"
    result = CliRunner().invoke(main, words[1:])
    assert result.exit_code == 0, result.output


def named_commands(document: Path) -> Iterator[str]:
    """Calls of our programs in text and blocks; the changelog also has a table of former ones."""
    text = document.read_text()
    if document.name == "CHANGELOG.md":
        text = re.sub(r"^\| was \|.*?\n\n", "", text, flags=re.DOTALL | re.MULTILINE)
    text = text.replace("\\\n", " ")
    program = r"(?:likewise|python -m studies) +[a-z]"
    for match in re.finditer(rf"`({program}[^`\n]*)`|^({program}.*)$", text, flags=re.MULTILINE):
        yield match[1] or match[2]


@pytest.mark.parametrize("document", DOCUMENTS, ids=_path)
def test_every_command_that_is_named_exists_with_its_options(document: Path) -> None:
    for call in named_commands(document):
        words = re.split(r" [#|>&]", call.replace("python -m studies", "studies"))[0].split()
        command: click.Command = main if words.pop(0) == "likewise" else studies
        while isinstance(command, click.Group) and words:
            subcommand = command.get_command(click.Context(command), words.pop(0))
            assert subcommand is not None, call
            command = subcommand
        options = {name for option in command.params for name in option.opts} | {"--help"}
        used = {word.partition("=")[0].rstrip(",.") for word in words if word.startswith("--")}
        assert used <= options, (call, used - options)


@pytest.mark.parametrize("document", DOCUMENTS, ids=_path)
def test_every_link_in_the_documentation_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=_path)
def test_no_reader_is_sent_to_a_page_that_is_not_named(document: Path) -> None:
    text = document.read_text()
    assert not re.search(r"\bsee (its|the|their|that) (own )?page\b", text, flags=re.IGNORECASE)
    for page in re.findall(r"`((?:docs|packages|tests|studies)/[\w./-]+\.\w+)`", text):
        assert (ROOT / page).exists(), page


def test_no_message_sends_a_reader_to_a_file_that_the_wheel_does_not_carry() -> None:
    """Docstrings may: those who read them have the repository."""
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        docstrings = {
            ast.get_docstring(n, clean=False) for n in ast.walk(tree) if isinstance(n, kinds)
        }
        said = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
        texts = [text for text in said if isinstance(text, str) and text not in docstrings]
        found = [text for text in texts if re.search(r"docs/[\w-]+\.md says|See [A-Z]\w+\.$", text)]
        assert not found, (path, found)


def test_the_architecture_names_every_room() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    for folder in FOLDERS:
        assert f"`{folder}/`" in page, folder


def test_the_architecture_names_modules_that_there_are() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", page))
    assert len(named) > 25
    there = {path.as_posix().rpartition("/src/")[2] for path in SOURCES}
    assert named <= there, named - there


def test_what_is_public_is_there_and_says_what_it_is() -> None:
    page = (ROOT / "docs/reference/public-api.md").read_text()
    rooms = [f for f in FOLDERS if re.fullmatch(r"likewise/\w+", f) and f != "likewise/cli"]
    for room in ["likewise", "likewise_client", *rooms]:
        name = room.replace("/", ".")
        assert f"`{name}`" in page, name
        module = import_module(name)
        for symbol in getattr(module, "__all__", []):
            assert getattr(module, symbol) is not None


@pytest.mark.parametrize("document", DOCUMENTS, ids=_path)
def test_no_python_block_in_the_documentation_escapes_the_doctests(document: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", document.read_text(), flags=re.DOTALL)
    assert all(block.lstrip().startswith(">>>") for block in blocks)


def test_every_target_of_the_makefile_that_the_readme_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"(?:`|^)make ([a-z]+)", (ROOT / "README.md").read_text(), re.M)):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def _fenced(page: str, start: str) -> str:
    """The block of a page that begins so."""
    pattern = rf"^```\w*\n({re.escape(start)}.*?)^```"
    [block] = re.findall(pattern, (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    return str(block)


def _pasted(script: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True,
        timeout=240, env={**os.environ, "PATH": path}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_files_of_the_readme_give_the_audit_that_it_shows(tmp_path: Path) -> None:
    rows = _fenced("README.md", "person,income,score")
    (tmp_path / "scores.csv").write_text(rows)
    (tmp_path / "panel.toml").write_text(_fenced("README.md", "rule = "))
    text = (ROOT / "README.md").read_text()
    [command] = re.findall(r"`(likewise audit scores\.csv --ids [^`]+)`", text)
    assert _fenced("README.md", "- bo is").strip() in _pasted(command, tmp_path)
    (tmp_path / "judgements.csv").write_text(_fenced("README.md", "person,other,"))
    surveyed = _pasted(_fenced("README.md", "likewise audit scores.csv --ids"), tmp_path)
    assert "bo is 70 points above ann" in surveyed
    head, *people = rows.splitlines()
    mine = [f"{head},repaid", *(f"{person},{i % 2}" for i, person in enumerate(people))]
    (tmp_path / "my.csv").write_text("\n".join(mine) + "\n")
    (tmp_path / "panel.toml").unlink()  # the next block writes one
    _pasted(_fenced("README.md", "likewise init my.csv"), tmp_path)
    assert "bo" in (tmp_path / "audit.html").read_text()


@pytest.mark.long
def test_commands_that_need_files_run_when_pasted(tmp_path: Path) -> None:
    """Beside the files that the pages name, with the columns that their options name."""
    people = [
        (f"c{i}", 13 * i % 100, 7 * i % 40, "fm"[i % 2], i % 10 / 10, i % 2) for i in range(40)
    ]
    lines = [",".join(map(str, person)) for person in people]
    (tmp_path / "scores.csv").write_text(
        "\n".join(["customer,income,debt,sex,score,repaid", *lines]) + "\n"
    )
    short = [f"{name},{income},{debt},0.5" for name, income, debt, *_ in people]  # no alarm
    table = "\n".join(["customer,income,debt,score", *short]) + "\n"
    (tmp_path / "months").mkdir()
    for path in ("people.csv", *(f"months/{month}.csv" for month in range(1, 9))):
        (tmp_path / path).write_text(table)
    responses = ("alike", "a little different", "very different")
    judged = [f"ann,c{i},c{i + 1},{responses[i % 3]}" for i in range(30)]
    (tmp_path / "judgements-ann.csv").write_text(
        "\n".join(["member,person,other,response", *judged]) + "\n"
    )
    page = "docs/auditing-a-model.md"
    panel = _fenced(page, "rule = ")
    (tmp_path / "panel.toml").write_text(panel)
    _pasted(_fenced(page, "likewise audit scores.csv"), tmp_path)
    (tmp_path / "panel.toml").unlink()
    _pasted(_fenced("docs/choosing.md", "likewise init people.csv"), tmp_path)
    (tmp_path / "panel.toml").write_text(panel)
    _pasted(_fenced(page, "likewise audit months/"), tmp_path)
    assert {"audit.html", "audit.xlsx", "judge.html", "watch.html"} <= set(os.listdir(tmp_path))
