"""Devices that networks are trained on."""

from __future__ import annotations

import os

import torch

#: Environment variable with the device that "auto" stands for.
DEVICE_VARIABLE = "LINREP_DEVICE"


def read_device(name: str) -> torch.device:
    """Return the device of a name."""
    if name == "auto":
        name = os.environ.get(DEVICE_VARIABLE, "auto")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device must be one that is here, got {name!r}: {reason}") from None
    return device


def synchronize(device: torch.device) -> None:
    """Wait until a device has done what it was given, so that a clock can be read."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def describe(device: torch.device) -> str:
    """Return the name of a device, as a trace has it."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
