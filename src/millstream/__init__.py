"""Apache Flink's programming model for Python, running on Apache Spark.

Importing this package is cheap: it loads neither PySpark nor pandas and starts no JVM.
"""

from __future__ import annotations

from millstream.missing_modules import explain_missing_modules

__all__ = ["__version__"]

__version__ = "0.1.0"

explain_missing_modules()
