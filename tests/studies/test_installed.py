"""A package whose learner cannot be loaded, or has a name that is taken.

The package is a folder on PYTHONPATH with a module and the metadata that pip would have written;
``tests/extension`` has one that works.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MODULE = '''
from likewise.learner.players import ExponentialWeights

class Warm(ExponentialWeights):
    """Exponential weights, warmer than ours."""
'''


def install(folder: Path, points: str) -> None:
    (folder / "coin_flips.py").write_text(MODULE)
    metadata = folder / "coin_flips-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: coin-flips\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(points)


def likewise(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "likewise", *arguments],
        env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True,
        timeout=200, check=False,
    )  # fmt: skip


def test_a_package_that_cannot_be_loaded_is_named_and_the_list_goes_on(tmp_path: Path) -> None:
    install(tmp_path, "[likewise.players]\nwarm = coin_flips:Missing\n[likewise.worlds]\n"
                      "coins = nowhere:Coins\n")  # fmt: skip
    listed = likewise(tmp_path, "list")
    assert listed.returncode == 0, listed.stderr
    assert "The player 'warm' is coin_flips:Missing of the package coin-flips, which cannot be" in (
        listed.stdout
    )
    assert "The world 'coins' is nowhere:Coins" in listed.stdout
    assert "Selections (--selection)" in listed.stdout
    refused = likewise(tmp_path, "simulate", "--world", "coins")
    assert refused.returncode == 1
    assert "which cannot be loaded" in refused.stderr


def test_a_name_that_could_be_two_things_is_refused(tmp_path: Path) -> None:
    install(tmp_path, "[likewise.players]\nexact = coin_flips:Warm\n")
    refused = likewise(tmp_path, "simulate", "--learner", "exact")
    assert refused.returncode == 1
    assert "could be the learner of Likewise itself or the player of that name" in refused.stderr
