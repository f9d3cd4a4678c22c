"""What a model's attention layers did, and models run with interventions.

``whatwhere.trace`` is both this package and the function :func:`whatwhere.trace.traceable.trace`: Python binds a
package to its name in the parent as soon as something in it is imported, so the package itself is callable.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """See :func:`whatwhere.trace.traceable.trace`."""
        from whatwhere.trace.traceable import trace

        return trace(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
