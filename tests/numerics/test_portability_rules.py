"""Decisions are the same on every machine: what is not rounded the same way everywhere is not used.

IEEE 754 fixes the result of + − · / and of square roots. It does not fix that of logarithms,
exponentials, powers and angles, which differ between mathematical libraries, processors and
versions of numpy; nor the order in which a matrix product adds, which differs between BLAS kernels.
So modules whose results enter decisions go without them: :mod:`likewise.numerics.fixed_point` has a
logarithm and an exponential of our own, ``numerics.randomness`` a generator, and long sums are
of integers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "packages/likewise/src/likewise"

# What decides nothing, with the reason; every other package and module on the disk is read.
EXEMPT = {
    "audits": "judges scores that exist",
    "cli": "prints",
    "learner/bounds.py": "is shown to people",
    "learner/certificate.py": "is shown to people",
    "learner/evidence.py": "is shown to people",
    "numerics/intervals.py": "is shown to people",
    "simulate/canvas.py": "draws",
    "simulate/counts.py": "judges games that have been played",
    "simulate/demo.py": "tabulates games",
    "simulate/hindsight.py": "judges games that have been played",
    "simulate/programs.py": "part of it",
    "simulate/propose.py": "tabulates games",
    "simulate/report.py": "draws and tabulates games",
    "testing": "judges what others wrote",
}


def _exempt(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}/") for name in EXEMPT)


FOUND = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
MODULES = [module for module in FOUND if not _exempt(module)]

LIBRARIES = {"math", "cmath", "numpy", "numpy.ma", "scipy", "random", "secrets", "statistics"}
FUNCTIONS = {
    *("log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "exp", "exp2", "expm1"),
    *("pow", "power", "float_power", "cbrt", "hypot", "gamma", "lgamma", "erf", "erfc", "sinc"),
    *(
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "arcsin",
        "arccos",
        "arctan",
        "arctan2",
    ),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "arcsinh", "arccosh", "arctanh"),
    *("geomspace", "logspace"),
    *("dot", "vdot", "inner", "tensordot", "einsum", "einsum_path", "convolve", "correlate", "cov"),
    *("multi_dot", "corrcoef", "polyfit", "polyval", "fft"),
}
# Whole modules of which nothing is portable, or nothing is ours.
NOTHING_OF = ("numpy.linalg", "numpy.random", "numpy.fft", "scipy", "random", "secrets", "cmath")

# (module, function): why the operator is exact there.
POWERS = {
    ("hypotheses/segments.py", "Segments.size"): "integers of Python",
    ("hypotheses/staircases.py", "Staircases.size"): "integers of Python",
    ("hypotheses/trees.py", "LinearByIntercepts.__init__"): "integers of Python",
    ("people/features.py", "plain_number"): "integers of Python",
}
PRODUCTS = {
    ("hypotheses/lists.py", "Listed.minimise"): "int64 by int64",
}
EXPLAIN = "if it is exact, say why in this file's table; else use integers, or fixed_point.py"


@dataclass
class Finding:
    kind: str
    line: int
    function: str
    name: str


@dataclass
class Reader(ast.NodeVisitor):
    """Walks over a module; knows which names stand for what of which library."""

    findings: list[Finding] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    inside: list[str] = field(default_factory=list)

    def note(self, kind: str, node: ast.AST, detail: str) -> None:
        line = getattr(node, "lineno", 0)
        self.findings.append(Finding(kind, line, ".".join(self.inside), detail))

    # Where one is

    def _within(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.inside.append(node.name)
        self.generic_visit(node)
        self.inside.pop()

    visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _within  # noqa: N815

    # What a name stands for

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.names[alias.asname or alias.name.split(".")[0]] = (
                alias.name if alias.asname else alias.name.split(".")[0]
            )
            self._check(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            self._check(node, f"{node.module}.{alias.name}")

    def _full_name(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._full_name(node.value)
            return f"{owner}.{node.attr}" if owner else None
        return None

    def _check(self, node: ast.AST, name: str) -> None:
        library, _, function = name.rpartition(".")
        watched = library in LIBRARIES
        nothing = any(name == banned or name.startswith(f"{banned}.") for banned in NOTHING_OF)
        if nothing or (watched and function in FUNCTIONS):
            self.note("function", node, name)
        elif watched and function == "matmul":
            self.note("product", node, name)

    # What is used

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self._full_name(node)
        if name:
            self._check(node, name)
        elif node.attr == "dot":
            self.note("function", node, "….dot")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "pow" and "pow" not in self.names:
            self.note("power", node, "pow()")
        self.generic_visit(node)

    def _operator(self, node: ast.BinOp | ast.AugAssign) -> None:
        if isinstance(node.op, ast.MatMult):
            self.note("product", node, "@")
        if isinstance(node.op, ast.Pow):
            sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target,)
            if not all(_is_integer(side) for side in sides):
                self.note("power", node, "**")
        self.generic_visit(node)

    visit_BinOp = visit_AugAssign = _operator  # noqa: N815


def _is_integer(node: ast.expr) -> bool:
    """An integer as a literal, such as 2 or 2.0."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)


def findings(text: str) -> list[Finding]:
    reader = Reader()
    reader.visit(ast.parse(text))
    return reader.findings


def everywhere() -> Iterator[tuple[str, Finding]]:
    for module in MODULES:
        for finding in findings((SOURCE / module).read_text()):
            yield module, finding


def places(kind: str) -> set[tuple[str, str]]:
    return {(module, actual.function) for module, actual in everywhere() if actual.kind == kind}


def test_the_modules_that_decide_are_all_read() -> None:
    rooms = {Path(module).parts[0] for module in MODULES}
    assert {"hypotheses", "learner", "numerics", "panel", "people", "simulate"} <= rooms
    assert {"numerics/fixed_point.py", "numerics/randomness.py"} <= set(MODULES)
    assert {"learner/fold.py", "learner/players.py", "people/schema.py"} <= set(MODULES)
    for module in EXEMPT:
        assert (SOURCE / module).exists(), f"{module} is exempt and does not exist"


def test_no_function_is_used_that_machines_round_differently() -> None:
    actual = [
        f"{module}:{f.line} {f.function}: {f.name}"
        for module, f in everywhere()
        if f.kind == "function"
    ]
    assert actual == []


def test_powers_are_of_whole_numbers_only() -> None:
    """Those of literals, and these; none of the list is out of date."""
    assert places("power") == set(POWERS), EXPLAIN


def test_matrix_products_are_exact() -> None:
    assert places("product") == set(PRODUCTS), EXPLAIN


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("import math\nmath.log(2)", ["function"]),
        ("import numpy as np\nnp.exp(x)", ["function"]),
        ("import numpy as np\nf = np.log1p", ["function"]),
        ("import numpy\nnumpy.linalg.solve(a, b)", ["function", "function"]),
        ("from numpy.linalg import norm", ["function"]),
        ("from numpy import tanh", ["function"]),
        ("from math import exp as e\ne(1)", ["function"]),
        ("import random", ["function"]),
        ("import numpy as np\nnp.random.default_rng(1)", ["function", "function"]),
        ("from numpy import linalg", ["function"]),
        ("import numpy.random as r", ["function"]),
        ("import scipy.special", ["function"]),
        ("x.dot(y)", ["function"]),
        ("import numpy as np\nnp.einsum('i,i', a, b)", ["function"]),
        ("x ** 2", ["power"]),
        ("x **= 2", ["power"]),
        ("2 ** x", ["power"]),
        ("2.5 ** 2", ["power"]),
        ("pow(x, 2)", ["power"]),
        ("a @ b", ["product"]),
        ("a @= b", ["product"]),
        ("import numpy as np\nnp.matmul(a, b)", ["product"]),
        ("2 ** 20 + 2.0 ** 34", []),
        ("from likewise.numerics.fixed_point import log\nlog(2)", []),
        ("import math\nmath.sqrt(x) + math.ldexp(x, 2) + math.comb(4, 2) + math.pi", []),
        ("import numpy as np\nnp.sqrt(x).sum()\nlog = power = 1", []),
        ("@decorated\ndef f(**k): g(**k)", []),
        ('"""np.log(2) ** x in a docstring"""', []),
    ],
)
def test_the_reader_knows_what_it_looks_for(text: str, kinds: list[str]) -> None:
    assert [actual.kind for actual in findings(text)] == kinds
