"""The place that flink-ml 2.0 has for `millstream.ml.evaluation.binaryclassification`."""

from millstream.ml.evaluation.binaryclassification import BinaryClassificationEvaluator

__all__ = ["BinaryClassificationEvaluator"]
