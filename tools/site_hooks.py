"""Hooks of mkdocs: pages and files of the repository that the documentation links to outside docs/.

Pages link to files as they stand in the repository, so that the links work in a checkout too. On the
site, a Markdown file outside docs/ that `PAGES` names is a page, and any other file is a copy that
a browser shows as text. A link to a file that does not exist stays, and mkdocs reports it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "CONTRIBUTING.md": "internals/contributing.md",
    "CHANGELOG.md": "internals/changes.md",
    "benchmarks/RESULTS.md": "operate/benchmarks.md",
}
HOME = "index.md"
DOCS = "docs/"
COPIES = "source/"
_LINK = re.compile(r"(?<=\]\()(?P<target>[^)#\s]+)(?P<rest>[^)]*)(?=\))")
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that stand outside docs/."""
    for path, uri in PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Let links out of docs/ lead to the pages and copies of the site."""
    uri = page.file.src_uri
    if uri == HOME:
        page.meta["hide"] = ["navigation"]  # The home page is the only one of its section.
    origin = next((path for path, at in PAGES.items() if at == uri), None)
    parent = os.path.dirname(origin or DOCS + uri)

    def place_on_the_site(link: re.Match[str]) -> str:
        path = os.path.normpath(os.path.join(parent, link["target"]))
        if "://" in link["target"] or not (ROOT / path).is_file():
            return link[0]
        target = _uri(path)
        if files.get_file_from_path(target) is None:
            files.append(File.generated(config, target, abs_src_path=str(ROOT / path)))
        return os.path.relpath(target, os.path.dirname(uri) or ".") + link["rest"]

    parts = _FENCE.split(markdown)
    # Every second part is a block of code.
    parts[::2] = [_LINK.sub(place_on_the_site, part) for part in parts[::2]]
    return "".join(parts)


def _uri(path: str) -> str:
    if path in PAGES:
        return PAGES[path]
    return path.removeprefix(DOCS) if path.startswith(DOCS) else f"{COPIES}{path}.txt"
