"""PyTorch and Triton, which are optional: imported here alone, and the GPU that they see."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from likewise.errors import MissingGpuError, missing

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as error:
    raise missing("The GPU engine", str(error.name or "torch"), "gpu", error) from error

__all__ = ["device", "interpreted", "kernel", "name", "tl", "torch", "triton"]


def kernel(*changing: str) -> Callable[[Callable[..., Any]], Any]:
    """Compile for the device; ``changing`` integers have no code of their own for some values."""
    compiled: Callable[[Callable[..., Any]], Any] = triton.jit(do_not_specialize=list(changing))
    return compiled


def interpreted() -> bool:
    """Look up whether Triton interprets its kernels on the CPU, for tests (TRITON_INTERPRET=1)."""
    return bool(triton.knobs.runtime.interpret)


@cache
def device() -> Any:
    """The GPU; the CPU where kernels are interpreted."""
    if interpreted():
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise MissingGpuError(
            f"The GPU engine needs an NVIDIA GPU, and PyTorch {torch.__version__} sees none here "
            f"(torch.cuda.is_available() is False). Put one in, or ask for the compiled engine"
        )
    return torch.device("cuda")


def name() -> str:
    if device().type == "cpu":
        return "none: kernels are interpreted on the CPU"
    return str(torch.cuda.get_device_name(device()))
