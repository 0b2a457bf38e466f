"""Stages as folders: ``metadata`` is JSON, ``data`` has the model data, ``stages`` those of a pipeline.

A folder is written beside its place and then moved there, so that it is whole or not there at all.
Values are JSON: nothing is unpickled. The module of the stage's class is imported.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from millstream.common.paths import local_path
from millstream.ml.api import Stage
from millstream.ml.errors import ml_error
from millstream.ml.util.values import from_json, to_json

__all__ = [
    "load_as",
    "load_metadata",
    "load_model_rows",
    "load_pipeline",
    "load_stage",
    "load_stage_param",
    "local_folder",
    "save_metadata",
    "save_model",
    "save_pipeline",
    "update_existing_params",
]

_FORMAT = 1


def save_metadata(
    stage: Stage[Any], path: str, extra_metadata: Mapping[str, Any] | None = None
) -> None:
    """Write the class and the parameters of a stage to a new folder."""
    with _new_folder(path) as folder:
        _write_metadata(stage, folder, extra_metadata or {})


def save_model(stage: Stage[Any], rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Write a model: its parameters, and the rows of its model data."""
    with _new_folder(path) as folder:
        _write_metadata(stage, folder, {})
        text = json.dumps([to_json(dict(row)) for row in rows])
        _write(folder / "data", text)


def save_pipeline(pipeline: Stage[Any], stages: Sequence[Stage[Any]], path: str) -> None:
    """Write a pipeline with its stages."""
    with _new_folder(path) as folder:
        names = getattr(pipeline, "_names", None)
        extra = {"num_stages": len(stages), "names": names, "wired": _wired(pipeline)}
        _write_metadata(pipeline, folder, extra)
        (folder / "stages").mkdir()
        for at, stage in enumerate(stages):
            stage.save(str(folder / "stages" / f"{at:04d}"))


def _wired(pipeline: Stage[Any]) -> bool:
    return bool(getattr(pipeline, "_wired", False))


def load_pipeline(t_env: Any, path: str) -> list[Stage[Any]]:
    """The stages of a pipeline that `save_pipeline` wrote."""
    count = load_metadata(path)["num_stages"]
    folder = local_folder(path) / "stages"
    return [load_stage(t_env, str(folder / f"{at:04d}")) for at in range(count)]


def load_metadata(path: str) -> dict[str, Any]:
    """The content of the metadata of a stage."""
    folder = local_folder(path)
    try:
        text = (folder / "metadata").read_bytes()
    except OSError as error:
        hint = "give the folder that save(path) has made"
        raise ml_error("ML_SAVE_FORMAT", f"{path} has no stage: {error}", hint) from None
    try:
        found = json.loads(text)
        assert isinstance(found, dict)
    except (ValueError, AssertionError):
        message = f"the metadata in {path} are not JSON"
        hint = "save the stage with this package; other formats are not read"
        raise ml_error("ML_SAVE_FORMAT", message, hint) from None
    _refuse_foreign(found, path)
    return found


def _refuse_foreign(found: Mapping[str, Any], path: str) -> None:
    if "className" in found:
        message = f"{path} was written by Flink's Java library ({found['className']})"
        hint = "fit the model again here, or give its model data to set_model_data(...)"
        raise ml_error("ML_JAVA_FILES", message, hint)
    if found.get("format") != _FORMAT:
        message = f"{path} has the format {found.get('format')}, this version reads {_FORMAT}"
        raise ml_error("ML_SAVE_FORMAT", message, "read it with the version that wrote it")


def load_stage(t_env: Any, path: str) -> Stage[Any]:
    """The stage in a folder, of whatever class it is."""
    found: Stage[Any] = _class_of(load_metadata(path), path).load(t_env, path)
    return found


def load_as(cls: type[Stage[Any]], path: str) -> Stage[Any]:
    """The stage in a folder, which must be of a class."""
    found = _class_of(load_metadata(path), path)
    if not issubclass(found, cls):
        message = f"{path} has a {found.__name__}, no {cls.__name__}"
        raise ml_error("ML_SAVE_FORMAT", message, f"call {found.__name__}.load(...)")
    return load_stage_param(path)


def load_stage_param(path: str) -> Stage[Any]:
    """A new stage with the parameters that a folder has, without model data."""
    metadata = load_metadata(path)
    stage = _class_of(metadata, path)()
    for name, text in metadata["param_map"].items():
        param = stage.get_param(name)
        if param is None:
            message = f"{path} has a parameter {name!r}, which {type(stage).__name__} has not"
            raise ml_error("ML_SAVE_FORMAT", message, "read it with the version that wrote it")
        stage.get_param_map()[param] = param.json_decode(text)
    vars(stage)["_chosen"] = set(metadata["chosen"])
    return stage


def load_model_rows(path: str) -> list[dict[str, Any]]:
    """The model data in a folder."""
    try:
        text = (local_folder(path) / "data").read_text(encoding="utf-8")
    except OSError as error:
        raise ml_error("ML_SAVE_FORMAT", f"{path} has no model data: {error}") from None
    return [from_json(each) for each in json.loads(text)]


def update_existing_params(target: Stage[Any], source: Stage[Any]) -> None:
    """Give a stage the parameters of another one, as far as it has them."""
    target._take_params(source)


def _class_of(metadata: Mapping[str, Any], path: str) -> type[Stage[Any]]:
    module, name = metadata["module_name"], metadata["class_name"]
    try:
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        message = f"{path} has a {module}.{name}, which cannot be imported: {error}"
        raise ml_error("ML_SAVE_FORMAT", message, "put its module on the path") from None
    if not (isinstance(found, type) and issubclass(found, Stage)):
        raise ml_error("ML_SAVE_FORMAT", f"{module}.{name} in {path} is no stage")
    return found


def _write_metadata(stage: Stage[Any], folder: Path, extra: Mapping[str, Any]) -> None:
    metadata = {
        "format": _FORMAT,
        "module_name": type(stage).__module__,
        "class_name": type(stage).__qualname__,
        "param_map": {each.name: each.json_encode(v) for each, v in stage.get_param_map().items()},
        "chosen": sorted(vars(stage).get("_chosen", ())),
        **extra,
    }
    _write(folder / "metadata", json.dumps(metadata, indent=1))


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def local_folder(path: str) -> Path:
    """A folder of this machine, or of a disk that all machines see."""
    found = local_path(path)
    if found is None:
        message = f"stages are saved to folders, not to {path}"
        raise ml_error("ML_SAVE_FORMAT", message, "save to a disk, and copy the folder")
    return Path(found)


@contextmanager
def _new_folder(path: str) -> Iterator[Path]:
    """A folder that takes its place when it is complete."""
    target = local_folder(path)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        message = f"{path} exists already"
        raise ml_error("ML_SAVE_EXISTS", message, "save to another folder, or remove this one")
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = target.parent / f".{target.name}.{uuid.uuid4().hex}"
    folder.mkdir()
    try:
        yield folder
        if target.exists():
            target.rmdir()
        folder.rename(target)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
