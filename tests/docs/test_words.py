"""Plain English: words and phrases that a reader in a hurry stumbles over are not used.

The list has phrases with few false positives. It is checked in Markdown pages, and in the docstrings
and comments of the source. A docstring begins with a noun phrase or an imperative.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.source_trees import statements, tree_of

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks/RESULTS.md"])
SOURCES = sorted(ROOT.glob("src/**/*.py"))
PROGRAMS = sorted(
    p for name in ("examples", "tools", "benchmarks") for p in ROOT.glob(f"{name}/**/*.py")
)
THINGS = (
    "(?:bucket|call|channel|element|epoch|file|fragment|job|key|line|minute|operator|page|partition|"
    "query|record|row|rule|run|second|slot|source|stage|step|task|window)"
)
AMOUNTS = (
    r"(?:\d[\d,]*|one(?: (?:call|entry|file|line|row|test|value))?|"
    "[kM]B|bytes|ms|us|microseconds|milliseconds|seconds)"
)
# Behind a comma, "for" with a subject and a verb means "because".
SUBJECTS = r"(?:it|they|he|this|that|there|nobody|nothing|Spark|Flink|Python|Java|the \w+|an? \w+)"
VERBS = (
    r"(?:is|are|was|has|have|had|can|cannot|may|would|will|does|do|writes|reads|needs|says|knows)"
)
INSTEAD = {
    r"\bof (?:yours|ours|theirs|mine)\b": "your, our, their",
    r"\b(?:whoever|whomever|whichever|whosoever)\b": "name the person or the thing",
    r"\bbut for\b": "except for",
    r"\bas ever\b": "still",
    r"\bmend(?:s|ed|ing)?\b": "fix, solve, repair",
    r"\banew\b": "again, from the beginning",
    r"\bfor ever\b": "forever",
    r"\bin hand\b": "loaded, in memory",
    r"\blast but one\b": "the one before the last",
    r"\bin whose\b": "whose, by whom",
    rf"[,;:] for {SUBJECTS} {VERBS}\b": "because",
    rf"(?-i:\b{AMOUNTS} an? {THINGS}\b)": "per",
    r"(?-i:\b(?:records|rows|times) an? (?:second|minute|hour|day)\b)": "per",
}
# The module tokenize needs a second for all comments. In a literal there is none.
LITERAL_OR_COMMENT = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'{3}(?:\\.|[^\\])*?\'{3}|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''''
    r"|(?P<comment>#[^\n]*)",
    re.DOTALL,
)
RIDDLE = re.compile(r"(?:What|Who|Whoever|Whatever|That which|One that|Ones that|So many)\b")


def hits(text: str) -> list[str]:
    """The phrases of the list in a text, each with what to write instead."""
    return [
        f"{found[0]!r}: write {instead}"
        for pattern, instead in INSTEAD.items()
        for found in re.finditer(pattern, text, re.IGNORECASE)
    ]


def prose_of_page(text: str) -> str:
    """A page without its blocks of code and its code in lines; line breaks are spaces."""
    without_blocks = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return _one_line(re.sub(r"`[^`\n]*`", "``", without_blocks))


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@cache
def docstrings(path: Path) -> list[tuple[str, str]]:
    """The docstrings of a module, each with the name of its owner."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    tree = tree_of(path)
    owners = [tree, *(node for node in statements(tree) if isinstance(node, kinds))]
    return [(getattr(o, "name", path.stem), text) for o in owners if (text := ast.get_docstring(o))]


def comments(source: str) -> Iterator[str]:
    """The comments of a source; those of lines in a row are one."""
    text, last = "", 0
    for found in LITERAL_OR_COMMENT.finditer(source):
        if not found["comment"]:
            continue
        if source.count("\n", last, found.start()) != 1:
            yield text
            text = ""
        text, last = f"{text} {found['comment'].lstrip('# ')}", found.end()
    yield text


@pytest.mark.parametrize(
    "text",
    [
        "On a session of yours",
        "whoever goes on",
        "all but for the last",
        "it fails as ever",
        "when it is mended",
        "begins anew",
        "waits for ever",
        "stays where it is, for Spark writes its place into it",
        "one test a rule of time",
        "2 microseconds a record",
    ],
)
def test_the_list_finds(text: str) -> None:
    assert hits(text)


@pytest.mark.parametrize(
    "text",
    [
        "a file for each epoch, for example",
        "wait for it",
        "a key, for which there is no state",
        "one record per file",
        "call a function with a record",
        "the second of a row",
        "recommended",
    ],
)
def test_the_list_leaves_alone(text: str) -> None:
    assert hits(text) == []


def test_comments_in_a_row_are_one() -> None:
    source = (
        "# one\n# two\n"
        'x = "# no"  # three\n'
        "y = '''\n# no\n'''\n\n"
        "z = 'it\\'s # no'\n"
        '"""It\'s # no."""\n'
        "# four\n"
    )
    assert [text for text in comments(source) if text] == [" one two three", " four"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_in_plain_english(page: Path) -> None:
    assert hits(prose_of_page(page.read_text(encoding="utf-8"))) == []


def test_docstrings_and_comments_are_in_plain_english() -> None:
    found = []
    for path in [*SOURCES, *PROGRAMS]:
        texts = [
            *(text for _, text in docstrings(path)),
            *comments(path.read_text(encoding="utf-8")),
        ]
        where = path.relative_to(ROOT)
        # All at once: most texts are short, and the list is long.
        found += [f"{where}: {hit}" for hit in hits(" | ".join(map(_one_line, texts)))]
    assert found == []


def test_a_docstring_begins_with_a_noun_phrase_or_an_imperative() -> None:
    riddles = [
        f"{path.relative_to(ROOT)} {owner}: {text.splitlines()[0]}"
        for path in SOURCES
        for owner, text in docstrings(path)
        if RIDDLE.match(text)
    ]
    assert riddles == []
