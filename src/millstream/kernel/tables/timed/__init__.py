"""Operators of tables that follow the clock: windows, OVER, joins by time, sorting by time."""
