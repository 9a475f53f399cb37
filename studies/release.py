"""A release: what has to hold before a version is tagged, and what ``make release`` leaves in dist.

Packages are built twice, and each carries the list of what it consists of (CycloneDX), which
``python -m studies.release --lists`` writes.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from likewise import __version__

PACKAGES = ("likewise", "likewise-client", "likewise-service")
PLACEHOLDER = "https://example.org/likewise"
ROOT = Path("packages")
VENDOR = ROOT / "likewise-service/src/likewise_service/web/static/vendor"
DATED = re.compile(rf"^## {re.escape(__version__)} \(\d{{4}}-\d\d-\d\d\)$", re.MULTILINE)


def project(name: str) -> dict[str, Any]:
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
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(out.resolve())]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd=copy)
    return sorted(out.glob(f"{name.replace('-', '_')}-{__version__}*"))


def expect(holds: object, otherwise: str) -> None:
    if not holds:
        sys.exit(otherwise)


def check() -> None:
    """The changelog is dated, the address is no placeholder, and the lists are up to date."""
    log = Path("CHANGELOG.md").read_text(encoding="utf-8")
    expect(DATED.search(log), f"CHANGELOG.md needs a line '## {__version__} (YYYY-MM-DD)'.")
    expect(
        not any(PLACEHOLDER in url for name in PACKAGES for url in project(name)["urls"].values()),
        f"The address is still {PLACEHOLDER}: sed -i 's#{PLACEHOLDER}#https://…#' "
        f"CITATION.cff packages/*/pyproject.toml",
    )
    for name in PACKAGES:
        path = ROOT / name / "sbom.cdx.json"
        expect(
            path.is_file() and path.read_text(encoding="utf-8") == bill_of_materials(name),
            f"{path} is out of date: python -m studies.release --lists",
        )


def build_twice(out: Path) -> None:
    """Build all packages into a folder; two builds, in different folders, have the same bytes."""
    with tempfile.TemporaryDirectory() as other:
        for name in PACKAGES:
            for first, second in zip(build(name, out), build(name, Path(other)), strict=True):
                expect(digest(first) == digest(second), f"Two builds of {first.name} differ.")


if __name__ == "__main__":
    if "--lists" in sys.argv:
        for name in PACKAGES:
            (ROOT / name / "sbom.cdx.json").write_text(bill_of_materials(name), encoding="utf-8")
    else:
        check()
        shutil.rmtree("dist", ignore_errors=True)
        Path("dist").mkdir()
        build_twice(Path("dist"))
