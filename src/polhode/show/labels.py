"""Colors that color-blind readers can distinguish, and labels with units: of figures, pages and films."""

from __future__ import annotations

# Okabe and Ito's palette
BLUE, VERMILION, GREEN, GRAY = "#0072B2", "#D55E00", "#009E73", "#7F7F7F"
PURPLE, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
COMPONENT_COLORS = (BLUE, VERMILION, GREEN)
QUATERNION_COLORS = (GRAY, *COMPONENT_COLORS)


def with_unit(label: str, unit: str) -> str:
    """Return a label with a unit in brackets, or the label alone if the unit is empty."""
    return f"{label} [{unit.replace('^2', '²').replace('^3', '³')}]" if unit else label


def count_label(count: int) -> str:
    """Return the number of bodies as text, such as "1 body" or "8 bodies"."""
    return "1 body" if count == 1 else f"{count} bodies"
