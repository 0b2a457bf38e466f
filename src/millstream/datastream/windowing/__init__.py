"""Windows: assigners, triggers, evictors, functions, and the streams they make."""
