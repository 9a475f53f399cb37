"""The first examples run in the reader's browser: Python, numpy and HiGHS as WebAssembly.

``make browser`` brings them from npm into ``build/browser``, each by its digest; a build that finds
them there puts them beside the pages, with the library as it is. A page loads them when its button
is pressed, from the site itself. Without them pages have no button.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

RUNTIME = Path(__file__).parents[2] / "build" / "browser"
PAGES = ("01_audit_a_model", "02_the_price_of_fairness", "03_elicit_a_metric")
# numpy is built for this Python, by the compiler of this Pyodide: change both together.
SOURCES = {
    "pyodide@0.27.7": "89d5d952675eb08e11286e52c7238f1248ce71726e896db9703e73bef23dc343",
    "@emscripten-forge/numpy@2.0.1-py312h4e66579-0":
        "7c6dab4b681b15286f10ab9972147f599d91df4ea881f61fb58ad39349423d84",
    "highs@1.15.3": "218533577886c69023739024bb92cfc2831ba45ff1fd1fd981753c04cded9793",
}  # fmt: skip
FILES = {
    "pyodide.mjs": "pyodide.mjs",
    "pyodide.asm.js": "pyodide.asm.js",
    "pyodide.asm.wasm": "pyodide.asm.wasm",
    "pyodide-lock.json": "pyodide-lock.json",
    "python_stdlib.zip": "python_stdlib.zip",
    "build/highs.mjs": "highs.mjs",
    "build/highs.wasm": "highs.wasm",
    "LICENSE": "highs.LICENSE",
}
PURE = ("likewise", "jinja2", "markupsafe")


def fetch() -> None:
    """Bring the files into ``build/browser``, of exactly these versions."""
    shutil.rmtree(RUNTIME, ignore_errors=True)
    RUNTIME.mkdir(parents=True)
    for source, digest in SOURCES.items():
        with tempfile.TemporaryDirectory() as folder:
            command = ["npm", "pack", "--silent", "--pack-destination", folder, source]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            data = next(Path(folder).iterdir()).read_bytes()
        if hashlib.sha256(data).hexdigest() != digest:
            sys.exit(f"{source} is not what it was: its digest is not {digest}.")
        for name, content in _members(data):
            if name in FILES:
                (RUNTIME / FILES[name]).write_bytes(content)
            elif name.endswith(".tar.gz"):
                (RUNTIME / "numpy.zip").write_bytes(_numpy(content))


def _members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of an archive, by their paths below its first folder."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and (file := tar.extractfile(member)):
                yield member.name.partition("/")[2], file.read()


def _numpy(archive: bytes) -> bytes:
    """The package alone, without its tests and headers."""
    left_out = ("/tests/", "/include/", "/f2py/", "/distutils/", ".pyi")
    files = {
        name.partition("site-packages/")[2]: content
        for name, content in _members(archive)
        if "site-packages/numpy/" in name and not any(part in name for part in left_out)
    }
    files["numpy/LICENSE.txt"] = dict(_members(archive))["licenses/LICENSE.txt"]
    return _zip(files)


def _zip(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def library() -> bytes:
    """The library as it is, with what it imports besides numpy."""
    files: dict[str, bytes] = {}
    for name in PURE:
        folder = Path(str(import_module(name).__file__)).parent
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix in (".py", ".html", ".css", ".js"):
                files[f"{name}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    return _zip(files)


def add_button(app: Any, pagename: str, *_: Any) -> None:
    """Load the button on the pages that can be run."""
    if RUNTIME.exists() and pagename.removeprefix("gallery/") in PAGES:
        app.add_js_file("browser/run.js", loading_method="defer")


def say_so(app: Any, docname: str, source: list[str]) -> None:  # noqa: ARG001
    """Say on the gallery's first page that examples can be run, where they can."""
    if RUNTIME.exists() and docname == "gallery/index":
        end = "a notebook to download."
        source[0] = source[0].replace(
            end, f"{end} The first three can be run, and changed, in the page.", 1
        )


def put_beside(app: Any, error: Exception | None) -> None:
    """Put what a page loads into the site."""
    folder = Path(app.outdir) / "_static" / "browser"
    if error is not None or app.builder.format != "html":
        return
    if not RUNTIME.exists():
        shutil.rmtree(folder)
        return
    shutil.copytree(RUNTIME, folder / "runtime", dirs_exist_ok=True)
    (folder / "likewise.zip").write_bytes(library())


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx when to add the button, and what it loads."""
    app.connect("source-read", say_so)
    app.connect("html-page-context", add_button)
    app.connect("build-finished", put_beside)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    fetch()
