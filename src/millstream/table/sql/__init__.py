"""Flink's SQL dialect: from text to a tree of statements.

`millstream.table.sql.parser` has the functions; `nodes`, `expressions`, `queries` and `statements`
have the tree. Nothing here knows catalogs, types of columns or functions.
"""
