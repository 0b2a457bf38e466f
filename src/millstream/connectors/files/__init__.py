"""Files that workers read themselves: a module for each format, without Spark.

A file is a channel. A large one is read in fragments, ranges of its bytes, by several tasks.
"""
