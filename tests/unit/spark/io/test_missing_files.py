"""Whether a job goes on without a file of its epoch that is gone."""

from __future__ import annotations

import pytest

from millstream.plan.specs import FilesSpec
from millstream.spark.io.inputs import ignores_missing


@pytest.mark.parametrize(
    ("option", "session", "ignored"),
    [
        (None, "false", False),
        (None, "TRUE", True),
        ("false", "false", False),
        ("false", "true", False),
        ("True", "false", True),
    ],
)
def test_the_option_of_a_source_overrides_the_session(
    option: str | None, session: str, ignored: bool
) -> None:
    options = {} if option is None else {"ignoreMissingFiles": option}
    spec = FilesSpec(path="/in", format="text", options=options)
    assert ignores_missing(spec, session) is ignored
