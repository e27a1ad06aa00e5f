"""Find memories: by words, by meaning, by exact text and by name."""

import sys
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """Makes `memcli.search(…)` the function of the Python API, although a package has its name."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from ..api import check_arguments, search

        return check_arguments(search)(*arguments, **options)


# Importing this package sets `memcli.search` to the module, whatever it was before.
sys.modules[__name__].__class__ = CallableModule
