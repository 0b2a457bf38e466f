"""The answer to what scikit-learn asks of an estimator before it validates or searches with it."""

from __future__ import annotations

from typing import Any

__all__ = ["tags_of"]


def tags_of(kind: str | None) -> Any:
    """The tags of an estimator: ``classifier``, ``regressor``, or neither."""
    # Only scikit-learn asks, so that it is there.
    from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags

    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=kind is not None),
        classifier_tags=ClassifierTags() if kind == "classifier" else None,
        regressor_tags=RegressorTags() if kind == "regressor" else None,
    )
