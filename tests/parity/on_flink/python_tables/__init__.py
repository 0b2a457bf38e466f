"""Programs of PyFlink's Table API; a function with the name of an environment as its parameter is one.

``t_env`` is a stream, ``b_env`` a batch, ``env, s_env`` an environment of streams and that of its tables.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

KINDS = (["t_env"], ["b_env"], ["env", "s_env"])


def programs():
    """All programs and their parameters, by name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        content = importlib.import_module(f"{__name__}.{module.name}")
        for name, each in vars(content).items():
            if not inspect.isfunction(each) or each.__module__ != content.__name__:
                continue
            parameters = list(inspect.signature(each).parameters)
            if parameters in KINDS and not name.startswith("_"):
                assert name not in found, f"two programs are called {name}"
                found[name] = each, parameters
    return found
