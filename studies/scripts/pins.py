"""Pins of a lock file that some packages need, and all that these need: for `make demo`.

python studies/scripts/pins.py requirements.lock numpy rich > pins.txt. It needs no library.
"""

import re
import sys
from pathlib import Path


def pins(lock: str, roots: set[str]) -> str:
    """The entries of the roots and of everything that they require."""
    # A package may have two entries, for different versions of Python.
    entries: dict[str, str] = {}
    for entry in re.findall(r"^\w.*?(?=^\w|\Z)", lock, re.M | re.S):
        name = entry.split("==")[0]
        entries[name] = entries.get(name, "") + entry
    # It names those that brought it: "# via rich", or a list below "# via".
    parents = {
        name: set(re.findall(r"^    #(?: via|  ) ?([\w.-]+)", entry, re.M))
        for name, entry in entries.items()
    }
    needed = set(roots)
    while more := {name for name in parents if parents[name] & needed} - needed:
        needed |= more
    if absent := needed - set(entries):
        sys.exit(f"The lock has no {', '.join(sorted(absent))}.")
    return "".join(entries[name] for name in sorted(needed))


if __name__ == "__main__":
    sys.stdout.write(pins(Path(sys.argv[1]).read_text(), set(sys.argv[2:])))
