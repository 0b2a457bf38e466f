"""Hints: a name that nobody knows, or a table that is not there, is an error and not left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.table.logical.context import BinderContext
from millstream.table.logical.problems import nearest, shown_list
from millstream.table.sql import queries
from millstream.table.sql.nodes import Node

__all__ = ["check_query_hints", "check_table_hints", "hint_options"]

_JOINS = ("BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN")
"""Hints that name tables. How joins run is not theirs to say here, so they only have to be right."""
_OF_QUERIES = ("STATE_TTL", "LOOKUP", "UID", *_JOINS, "OPTIONS", "JSON_AGGREGATE_WRAPPED")
_RETRY = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")
_LOOKUP = ("table", "async", "output-mode", "capacity", "timeout", "shuffle", *_RETRY)


def check_query_hints(
    hints: Sequence[queries.Hint], source: queries.Relation | None, context: BinderContext
) -> None:
    """Check the hints of a SELECT. ``source``: what stands in its FROM."""
    tables = _tables(source) if hints and source is not None else []
    for hint in hints:
        name = hint.name.text.upper()
        _check_name(hint, _OF_QUERIES, context)
        options = dict(hint_options(hint))
        if name in _JOINS:
            if not options:
                raise _error(context, f"{name} names no table", hint, f"write {name}(t)")
            _check_tables(name, options.values(), tables, hint, context)
        elif name == "STATE_TTL":
            if not options or any(each.key is None for each in hint.options):
                message = "STATE_TTL gives a time to each table"
                raise _error(context, message, hint, "write STATE_TTL('t' = '1 d')")
            _check_tables(name, options, tables, hint, context)
        elif name == "LOOKUP":
            _check_lookup(options, tables, hint, context)


def check_table_hints(hints: Iterable[queries.Hint], context: BinderContext) -> None:
    """Check the hints behind the name of a table."""
    for hint in hints:
        _check_name(hint, ("OPTIONS",), context)


def hint_options(hint: queries.Hint) -> tuple[tuple[str, str], ...]:
    """The options of a hint; values without a key have their number as key."""
    found = []
    for at, option in enumerate(hint.options):
        key = option.key
        text = str(at) if key is None else str(getattr(key, "value", key))
        found.append((text, _text(option.value)))
    return tuple(found)


def _text(node: Node) -> str:
    for name in ("value", "text"):
        if hasattr(node, name):
            return str(getattr(node, name))
    named = getattr(node, "name", None)
    return str(named)


def _tables(source: queries.Relation) -> list[str]:
    """The names under which the tables of a FROM are known."""
    found: list[str] = []
    for node in source.walk():
        if isinstance(node, queries.TableRef):
            found += [node.name.names[-1], ".".join(node.name.names)]
        elif isinstance(node, queries.Aliased):
            found.append(node.name.text)
    return list(dict.fromkeys(found))


def _check_name(hint: queries.Hint, known: Sequence[str], context: BinderContext) -> None:
    name = hint.name.text.upper()
    if name in known:
        return
    close = nearest(name, known)
    advice = f"did you mean {close[0]}?" if close else f"hints here: {', '.join(known)}"
    raise _error(context, f"there is no hint {hint.name.text} for this place", hint, advice)


def _check_tables(
    name: str,
    given: Iterable[str],
    tables: Sequence[str],
    hint: queries.Hint,
    context: BinderContext,
) -> None:
    for each in given:
        if each not in tables:
            close = nearest(each, tables)
            advice = f"did you mean {close[0]}?" if close else f"tables here: {shown_list(tables)}"
            raise _error(context, f"{name} names {each}, which is not in FROM", hint, advice)


def _check_lookup(
    options: dict[str, str], tables: Sequence[str], hint: queries.Hint, context: BinderContext
) -> None:
    for key in options:
        if key not in _LOOKUP:
            close = nearest(key, _LOOKUP)
            advice = f"did you mean {close[0]}?" if close else f"options: {', '.join(_LOOKUP)}"
            raise _error(context, f"LOOKUP has no option {key}", hint, advice)
    if "table" not in options:
        raise _error(context, "LOOKUP names no table", hint, "write LOOKUP('table' = 't', ...)")
    _check_tables("LOOKUP", [options["table"]], tables, hint, context)
    said = [each for each in _RETRY if each in options]
    if said and len(said) < len(_RETRY):
        missing = [each for each in _RETRY if each not in options]
        message = f"LOOKUP says how to retry, but not {', '.join(missing)}"
        raise _error(context, message, hint, "give all four options, or none of them")
    if options.get("retry-strategy", "fixed_delay") != "fixed_delay":
        message = f"LOOKUP cannot retry by {options['retry-strategy']!r}"
        raise _error(context, message, hint, "write 'retry-strategy' = 'fixed_delay'")


def _error(context: BinderContext, message: str, hint: queries.Hint, advice: str) -> Exception:
    return context.error("HINT", message, hint, advice)
