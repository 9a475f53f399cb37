"""The shape of the code: what a newcomer has to walk through, in numbers.

``python -m studies shape`` prints lines, folders, import lines and vague names of every package,
the commands and options of the program, and, from rounds that are really played, how many files
one round touches and how deep its calls go.
"""

from __future__ import annotations

import ast
import sys
import threading
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import click

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "likewise": ROOT / "packages/likewise/src/likewise",
    "likewise_service": ROOT / "packages/likewise-service/src/likewise_service",
    "likewise_client": ROOT / "packages/likewise-client/src/likewise_client",
    "studies": ROOT / "studies",
}
# Names that say nothing of what they hold.
VAGUE = frozenset({"found", "one", "known", "given", "said", "mine", "wanted"})


@dataclass(frozen=True)
class Shape:
    """Counts over the modules of one package."""

    lines: int
    code: int
    imports: int
    folders: int
    names: int
    vague: int


def bound_names(tree: ast.AST) -> Iterator[str]:
    """Names of variables, parameters, functions and classes, once for every place that binds one.

    >>> sorted(bound_names(ast.parse("def f(x, y):\\n    z = x\\n    for i in y: pass")))
    ['f', 'i', 'x', 'y', 'z']
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def code_lines(path: Path, tree: ast.Module) -> int:
    """Lines that hold a token other than a comment or a docstring."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    layout = {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
    code: set[int] = set()
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type not in layout and token.type != tokenize.ENDMARKER:
                code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings)


def shape_of(folder: Path) -> Shape:
    lines = code = imports = names = vague = 0
    folders = set()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        bound = [name.strip("_") for name in bound_names(tree)]
        folders.add(path.parent)
        lines += len(text.splitlines())
        code += code_lines(path, tree)
        names += len(bound)
        vague += sum(name in VAGUE for name in bound)
        imports += sum(
            (node.end_lineno or node.lineno) - node.lineno + 1
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
        )
    return Shape(lines, code, imports, len(folders), names, vague)


def commands_and_options(group: click.Group) -> tuple[int, int]:
    """Commands that do something, and their options, ``--help`` and ``--version`` apart."""
    context = click.Context(group)
    commands = options = 0
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            inner = commands_and_options(command)
            commands, options = commands + inner[0], options + inner[1]
        elif command is not None:
            commands += 1
            options += sum(isinstance(p, click.Option) for p in command.params)
    return commands, options


@dataclass
class Trace:
    """Files of ours whose functions ran while ``on``, and the deepest stack below ``top``.

    The stack counts our own frames, from the innermost function named ``top`` down.
    """

    top: str = ""

    files: set[str] = field(default_factory=set)
    deepest: int = 0
    on: bool = False

    def __enter__(self) -> Trace:
        threading.setprofile(self._hear)  # threads that are started from now on
        sys.setprofile(self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _hear(self, frame: FrameType, event: str, _: Any) -> None:
        if not self.on or event != "call" or not _ours(frame):
            return
        self.files.add(frame.f_code.co_filename)
        depth = 0
        above: FrameType | None = frame
        while above is not None:
            depth += _ours(above)
            if _ours(above) and above.f_code.co_name == self.top:
                self.deepest = max(self.deepest, depth)
                break
            above = above.f_back

    def run(self, work: Callable[[], Any]) -> Any:
        self.on = True
        try:
            return work()
        finally:
            self.on = False


def _ours(frame: FrameType) -> bool:
    return "/packages/likewise" in frame.f_code.co_filename


def simulated_round() -> Trace:
    """Trace one round of a game, after one that warms it up."""
    from likewise.simulate.game import Game
    from likewise.simulate.rounds import play

    prepared = [Game("loans", "exact", 1, 1).prepare() for _ in range(2)]
    play(prepared[0].world, prepared[0].learner, 1)
    with Trace() as trace:
        trace.run(lambda: play(prepared[1].world, prepared[1].learner, 1))
    return trace


def live_round(folder: Path) -> tuple[int, int]:
    """Play rounds through a server; return the files of a round, and the stack that opens one."""
    from likewise import Learner
    from likewise.simulate import Loans
    from likewise_client import Client
    from likewise_service.app import running
    from likewise_service.auth.tokens import create_token
    from likewise_service.demo import applicants
    from likewise_service.dockets.rounds import open_docket
    from likewise_service.dockets.spec import DocketSpec
    from likewise_service.ledger.store import Store
    from likewise_service.settings import Settings

    world = Loans(1, k=4)
    spec = DocketSpec.of("Loans", Learner(world.hypotheses(), 4, 0.3, 0.3, 7), ("ann",), rule="any")
    database = f"sqlite:///{folder / 'shape.db'}"
    store = Store.open(database)
    open_docket(store, "loans", spec, seed=7)
    bank_token, _ = create_token(store, "client", "bank", "loans")
    ann_token, _ = create_token(store, "auditor", "ann", "loans")
    store.close()
    with (
        Trace("open_round") as trace, running(Settings(database=database)) as address,
        Client(address, bank_token) as bank, Client(address, ann_token) as ann,
    ):  # fmt: skip

        def play_round(number: int) -> None:
            encounter = world.encounter(number)
            people = {a.id: dict(a.features) for a in applicants(encounter.people)}
            opened = bank.open_round("loans", people)
            for review in ann.reviews("loans"):
                ann.finish("loans", review.id)
            bank.label("loans", [(opened.id, person, 1) for person in people])
            bank.close_round("loans", opened.id)

        play_round(1)  # imports and caches
        trace.run(lambda: play_round(2))
    return len(trace.files), trace.deepest


def shape_lines(folder: Path) -> Iterator[str]:
    """Yield the figures, a line each."""
    from likewise.cli import main

    for name, source in PACKAGES.items():
        shape = shape_of(source)
        yield (
            f"{name}: {shape.lines:,} lines in {shape.folders} folders; imports "
            f"{100 * shape.imports / shape.code:.1f} % of the code; vague names "
            f"{100 * shape.vague / shape.names:.2f} %"
        )
    commands, options = commands_and_options(main)
    yield f"commands: {commands}; options: {options}"
    yield f"files touched by a simulated round: {len(simulated_round().files)}"
    files, stack = live_round(folder)
    yield f"files touched by a round through the service: {files}"
    yield f"deepest stack of opening a round: {stack}"
