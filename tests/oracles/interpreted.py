"""Triton's kernels on this CPU: set before anything imports them, in a process of its own.

Slow, and exact: the interpreter does with numpy what a GPU does, so that what the kernels compute
can be tested without one.
"""

from __future__ import annotations

import os
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

from triton.runtime import interpreter

_patch = interpreter._patch_lang_tensor


def _patch_tensor(tensor: Any, scope: Any) -> None:
    """Scalars are arrays of one number there, which numpy 2.4 no longer turns into an integer."""
    _patch(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))


interpreter._patch_lang_tensor = _patch_tensor
