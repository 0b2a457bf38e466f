"""Spark Streaming's DStream API on Millstream's engine, by PySpark's names."""
