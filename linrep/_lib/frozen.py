"""Frozen dataclasses that read their own fields."""

from __future__ import annotations

from typing import Any


def settle(instance: Any, **values: Any) -> None:
    """Put what was read of fields in their place, while a frozen instance is being made."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)
