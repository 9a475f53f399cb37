"""Bring the catalogues of the pages up to date with their texts.

    python -m studies.scripts.catalogues

New texts come without a translation, which the tests do not let pass; texts that are gone go.
"""

import io
from functools import cache
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from likewise_service import language

HEADER = """# The texts of the pages; python -m studies.scripts.catalogues keeps them up to date.
msgid ""
msgstr ""
"Language: {name}\\n"
"Plural-Forms: {plural}\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""


METHODS = {
    "web/templates/**.html": "jinja2", "verify/**.txt": "jinja2",
    "web/static/vendor/**": "ignore", "web/static/**.js": "javascript", "**.py": "python",
}  # fmt: skip
OPTIONS = {
    "web/templates/**.html": {"trimmed": "true", "newstyle_gettext": "true"},
    "web/static/**.js": {"parse_template_string": "true"},
}
KEYWORDS: dict[str, Any] = {"_": None, "gettext": None, "N_": None, "ngettext": (1, 2)}
Message = str | tuple[str, ...]


@cache
def messages(kind: str = "") -> dict[Message, list[str]]:
    """Return every text that people read, or those of one kind of file, with its files."""
    files: dict[Message, list[str]] = {}
    methods = [(p, m) for p, m in METHODS.items() if p.endswith(kind) or m == "ignore"]
    extracted = extract_from_dir(language.FOLDER, methods, OPTIONS, KEYWORDS)
    for file, _line, message, _comments, _context in extracted:
        files.setdefault(message, []).append(file)
    return files


def updated(name: str) -> Catalog:
    """Return the catalogue of a language, with exactly the texts that the pages have."""
    path = language.CATALOGUES / f"{name}.po"
    before = Catalog(name)
    if path.exists():
        with path.open("rb") as file:
            before = read_po(file, locale=name)
    catalog = Catalog(name)
    for text, files in messages().items():
        old = before.get(text[0] if isinstance(text, tuple) else text)
        string = old.string if old is not None and old.id == text else ""
        catalog.add(text, string, [(file, None) for file in sorted(set(files))])  # type: ignore[misc]
    return catalog


def written(catalog: Catalog) -> str:
    """Write a catalogue; it changes with its texts alone, so no date and no version is in it."""
    file = io.BytesIO()
    write_po(file, catalog, width=100, sort_output=True, omit_header=True, include_lineno=False)
    header = HEADER.format(name=catalog.locale, plural=catalog.plural_forms)
    return header + file.getvalue().decode().lstrip("\n")


def main() -> None:
    for name in language.LANGUAGES:
        if name != "en":
            text = written(updated(name))
            (language.CATALOGUES / f"{name}.po").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
