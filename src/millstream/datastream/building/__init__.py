"""Rules that all streams share: types, fields, settings of operators."""
