"""Paths as other processes understand them."""

from __future__ import annotations

import os

import pytest

from millstream.checkpoint.folder import open_path
from millstream.spark.client import absolute_path


@pytest.mark.parametrize("path", ["file:/data/words", "file:words", "words", "/data/words"])
def test_a_path_is_the_one_that_is_opened(path: str) -> None:
    assert absolute_path(path) == open_path(path)[1]
    assert os.path.isabs(absolute_path(path))


def test_a_uri_stays_as_it_is() -> None:
    for uri in ("s3://bucket/words", "file:///data/words"):
        assert absolute_path(uri) == uri
