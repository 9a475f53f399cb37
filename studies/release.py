"""A release: what has to hold before a version is tagged, walked by one command.

``make release`` (``python -m studies release``) stops at the first step that fails. The last step
leaves in ``dist/`` what the workflow would publish, and the sums of every file.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from likewise import __version__
from likewise.cli.main import note

PACKAGES = ("likewise", "likewise-client", "likewise-service")
# The address of the project: this is the only place to change it, with `--address`.
PLACEHOLDER = "https://example.org/likewise"
ROOT = Path("packages")
VENDOR = ROOT / "likewise-service/src/likewise_service/web/static/vendor"
DATED = re.compile(rf"^## {re.escape(__version__)} \(\d{{4}}-\d\d-\d\d\)$", re.MULTILINE)


def project(name: str) -> dict[str, Any]:
    """The table ``[project]`` of a package."""
    text = (ROOT / name / "pyproject.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)["project"]
    return table


def vendored() -> Iterator[dict[str, Any]]:
    """Code of others that the service carries: the table of its folder, with the files' sums."""
    for row in (VENDOR / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        files = re.findall(r"`([^`]+\.(?:js|css))`", cells[0])
        if len(cells) != 4 or not files:
            continue
        _, name, version, licence = cells
        yield {
            "type": "library", "bom-ref": f"pkg:npm/{name}@{version}", "name": name,
            "version": version, "purl": f"pkg:npm/{name}@{version}",
            "licenses": [{"license": {"name": licence.partition(" (")[0]}}],
            "components": [
                {"type": "file", "bom-ref": file, "name": file,
                 "hashes": [{"alg": "SHA-256", "content": digest(VENDOR / file)}]}
                for file in files
            ],
        }  # fmt: skip


def bill_of_materials(name: str) -> str:
    """Write what a package consists of as CycloneDX: itself, what it carries, what it requires."""
    table = project(name)
    reference = f"pkg:pypi/{name}@{__version__}"
    required = [re.split(r"[\[>=<;]", text)[0].strip() for text in table["dependencies"]]
    carried = list(vendored()) if name == "likewise-service" else []
    components = carried + [
        {"type": "library", "bom-ref": f"pkg:pypi/{other}", "name": other,
         "purl": f"pkg:pypi/{other}", "scope": "required"}
        for other in required
    ]  # fmt: skip
    bill = {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {
            "type": "library", "bom-ref": reference, "name": name, "version": __version__,
            "purl": reference, "licenses": [{"license": {"id": table["license"]}}],
        }},
        "components": components,
        "dependencies": [
            {"ref": reference, "dependsOn": [component["bom-ref"] for component in components]}
        ],
    }  # fmt: skip
    return json.dumps(bill, indent=2) + "\n"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def build(name: str, out: Path) -> list[Path]:
    """Build the sdist and the wheel of a package, from a copy of its folder."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / name
        shutil.copytree(ROOT / name, copy, ignore=shutil.ignore_patterns("__pycache__"))
        run(sys.executable, "-m", "hatchling", "build", "-d", str(out.resolve()), cwd=copy)
    return sorted(out.glob(f"{name.replace('-', '_')}-{__version__}*"))


def run(*command: str, cwd: Path | None = None) -> str:
    """Run a command and return what it prints; what it says is shown where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode:
        raise click.ClickException(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(holds: object, otherwise: str) -> None:
    """Stop the walk with what has to be done."""
    if not holds:
        raise click.ClickException(otherwise)


def committed(_: Path) -> str:
    """Everything is committed."""
    expect(not run("git", "status", "--porcelain"), "Commit or stash what has changed.")
    return run("git", "rev-parse", "HEAD").strip()


def described(_: Path) -> str:
    """The changelog has a dated section of this version."""
    log = Path("CHANGELOG.md").read_text(encoding="utf-8")
    expect(DATED.search(log), f"CHANGELOG.md needs a line '## {__version__} (YYYY-MM-DD)'.")
    return f"version {__version__}"


def addressed(_: Path) -> str:
    """The packages name the project's address, and not its placeholder."""
    addresses: set[str] = {url for name in PACKAGES for url in project(name)["urls"].values()}
    expect(
        not any(url.startswith(PLACEHOLDER) for url in addresses),
        f"The address is still {PLACEHOLDER}: python -m studies release --address https://…",
    )
    return min(addresses, key=len)


def listed(_: Path) -> str:
    """Each package carries the list of what it consists of."""
    for name in PACKAGES:
        path = ROOT / name / "sbom.cdx.json"
        expect(
            path.is_file() and path.read_text(encoding="utf-8") == bill_of_materials(name),
            f"{path} is out of date: python -m studies release --lists",
        )
    return "CycloneDX 1.6"


def built_twice(out: Path) -> str:
    """Two builds, in different folders, have the same bytes."""
    with tempfile.TemporaryDirectory() as other:
        for name in PACKAGES:
            for first, second in zip(build(name, out), build(name, Path(other)), strict=True):
                expect(digest(first) == digest(second), f"Two builds of {first.name} differ.")
    return f"{len(list(out.iterdir()))} files"


def accepted(out: Path) -> str:
    """An index would take the files (twine check --strict)."""
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, out.iterdir()))
    return "accepted"


def installed(_: Path) -> str:
    """Each wheel works alone, in an environment of its own."""
    run(sys.executable, "-m", "pytest", "-q", "-m", "long or not long", "tests/test_packaging.py")
    return "tests/test_packaging.py"


def summed(out: Path) -> str:
    """The sums of the files are written beside them."""
    files = sorted(path for path in out.iterdir() if path.name != "SHA256SUMS")
    sums = "".join(f"{digest(path)}  {path.name}\n" for path in files)
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return str(out / "SHA256SUMS")


STEPS: tuple[Callable[[Path], str], ...] = (
    committed, described, addressed, listed, built_twice, accepted, installed, summed,
)  # fmt: skip


def write_lists() -> None:
    """Write the list of what each package consists of."""
    for name in PACKAGES:
        path = ROOT / name / "sbom.cdx.json"
        path.write_text(bill_of_materials(name), encoding="utf-8")


def set_address(address: str) -> None:
    """Put the project's address in place of the one that is there, wherever it is named."""
    old = min(project("likewise")["urls"].values(), key=len)
    for path in [Path("CITATION.cff"), *(ROOT / name / "pyproject.toml" for name in PACKAGES)]:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(old, address.rstrip("/")), encoding="utf-8")


def walk(out: Path) -> None:
    """Take every step of a release, and say what was seen in each."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for step in STEPS:
        assert step.__doc__ is not None  # noqa: S101 - each says what it looks at
        note(f"{step.__doc__.strip()} {step(out)}")
    note(f"Ready. Now: git tag -s v{__version__} && git push --tags; the workflow publishes it.")
