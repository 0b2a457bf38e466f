"""PyFlink's names of tables: each can be imported from where PyFlink has it, with all its methods."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from millstream.common import Configuration
from millstream.common.errors import MillstreamError, PlanError
from millstream.datastream.connectors.absent import AbsentClass
from millstream.table import TableEnvironment

NAMES = Path(__file__).parents[2] / "parity" / "flink_names.json"
TABLES: dict[str, dict[str, dict[str, list[str]]]] = json.loads(NAMES.read_text(encoding="utf-8"))[
    "tables"
]
JAVA = {"UserDefinedType": {"from_sql_type", "java_udt", "module", "to_sql_type"}}
"""What Java's side of PyFlink calls; programs do not."""


@pytest.mark.parametrize("module", TABLES)
def test_names_are_where_pyflink_has_them(module: str) -> None:
    here = importlib.import_module(module.replace("pyflink", "millstream", 1))
    missing = []
    for name, members in TABLES[module].items():
        found = getattr(here, name, None)
        if found is None:
            missing.append(name)
        elif not isinstance(found, AbsentClass) and "()" not in members:
            wanted = set(members) - JAVA.get(name, set())
            missing += [f"{name}.{each}" for each in sorted(wanted) if not hasattr(found, each)]
    assert missing == []


@pytest.mark.parametrize("module", TABLES)
def test_arguments_can_be_given_by_pyflinks_names(module: str) -> None:
    here = importlib.import_module(module.replace("pyflink", "millstream", 1))
    missing = []
    for name, members in TABLES[module].items():
        found = getattr(here, name)
        if isinstance(found, AbsentClass) or inspect.isabstract(found):
            continue
        for member, parameters in members.items():
            thing = found if member == "()" else getattr(found, member, None)
            if inspect.isroutine(thing):
                missing += [
                    f"{name}.{member}({each}=)" for each in parameters if not takes(thing, each)
                ]
    assert missing == []


def takes(function: Any, name: str) -> bool:
    """Whether an argument can be given by a name."""
    known = inspect.signature(function).parameters
    return name in known or any(each.kind is each.VAR_KEYWORD for each in known.values())


def test_star_imports_take_the_names_of_catalogs() -> None:
    space: dict[str, Any] = {}
    exec("from millstream.table.catalog import *", space)
    assert set(TABLES["pyflink.table.catalog"]) <= set(space)


@pytest.mark.parametrize(
    ("module", "name", "instead"),
    [
        ("catalog", "HiveCatalog", "'type' = 'spark'"),
        ("catalog", "JdbcCatalog", "'connector' = 'jdbc'"),
        ("compiled_plan", "CompiledPlan", "savepoint"),
        ("descriptors", "Rowtime", "Schema.new_builder()"),
        ("model_descriptor", "ModelDescriptor", "udf(...)"),
        ("module", "HiveModule", "udf(...)"),
        ("plan_reference", "PlanReference", "savepoint"),
    ],
)
def test_the_use_of_what_is_not_here_says_what_is(module: str, name: str, instead: str) -> None:
    found = getattr(importlib.import_module(f"millstream.table.{module}"), name)
    with pytest.raises(PlanError) as caught:
        found("x")
    assert caught.value.code == "NOT_SUPPORTED"
    assert instead in caught.value.message


def test_methods_that_are_not_here_say_what_is() -> None:
    t_env = TableEnvironment.create()
    table = t_env.from_elements([(1,)], ["n"])
    calls = [
        lambda: t_env.load_plan("plan.json"),
        lambda: t_env.execute_plan("plan.json"),
        lambda: t_env.compile_plan_sql("INSERT INTO t SELECT 1"),
        lambda: t_env.create_statement_set().compile_plan(),
        lambda: table.insert_into("t").compile_plan(),
        lambda: t_env.create_model("m", None),
        lambda: t_env.drop_temporary_model("m"),
    ]
    for call in calls:
        with pytest.raises(PlanError) as caught:
            call()
        assert caught.value.code == "NOT_SUPPORTED"
        assert caught.value.hint
    assert t_env.list_models() == t_env.list_temporary_models() == []


def test_files_and_packages_are_those_of_the_environment(tmp_path: Path) -> None:
    t_env = TableEnvironment.create()
    for name in ("code.py", "requirements.txt", "data.zip"):
        (tmp_path / name).write_bytes(b"")
    t_env.add_python_file(str(tmp_path / "code.py"))
    t_env.add_python_archive(str(tmp_path / "data.zip"), "data")
    t_env.set_python_requirements(str(tmp_path / "requirements.txt"))
    known = t_env._env._settings.dependencies
    assert [Path(each).name for each in known.files] == ["code.py"]
    assert [name for _, name in known.archives] == ["data"]
    assert known.requirements == (str(tmp_path / "requirements.txt"), None)


def test_a_pipeline_knows_its_sink() -> None:
    t_env = TableEnvironment.create()
    t_env.execute_sql("CREATE TABLE t (n INT) WITH ('connector' = 'print')")
    found = t_env.from_elements([(1,)], ["n"]).insert_into("t").get_sink_identifier()
    assert found is not None
    assert found.as_summary_string() == "default_catalog.default_database.t"
    assert found.to_object_path().get_full_name() == "default_database.t"


def test_the_names_of_the_package_are_documented_as_public() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "public.md"
    text = page.read_text(encoding="utf-8")
    missing = []
    for module in TABLES:
        name = module.replace("pyflink", "millstream", 1)
        if f"`{name}`" not in text:
            missing.append(name)
    assert missing == []


def test_configurations_make_catalogs() -> None:
    from millstream.table.catalog import CatalogDescriptor

    t_env = TableEnvironment.create()
    options = Configuration.from_dict({"type": "generic_in_memory", "default-database": "d"})
    t_env.create_catalog("shop", CatalogDescriptor.of("shop", options, "all of it"))
    t_env.use_catalog("shop")
    assert (t_env.get_current_database(), t_env.list_catalogs()) == (
        "d",
        ["default_catalog", "shop"],
    )
    assert t_env.get_catalog("nowhere") is None
    with pytest.raises(MillstreamError, match="there is no catalog of type hive"):
        t_env.create_catalog(
            "h", CatalogDescriptor.of("h", Configuration.from_dict({"type": "hive"}))
        )
