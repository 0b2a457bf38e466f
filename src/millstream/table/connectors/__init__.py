"""Connectors of tables: from the options of CREATE TABLE to sources and sinks."""
