"""PyFlink programs, as a user would write them; Millstream runs them with its name in the imports.

A program is a public function of ``(env, timed)`` that returns a stream, or streams by name.
``timed(records)`` is a stream of ``(key, value, time)`` with event times, and a watermark after every
record: one less than the largest time so far, and ``out_of_orderness`` less than that. Programs that
make their watermarks themselves must not depend on when these come.
"""
