"""Trajectories as tables of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.extras import optional

if TYPE_CHECKING:
    from pandas import DataFrame

    from polhode.integration.base_trajectory import BaseTrajectory

COMPONENTS = {3: "xyz", 4: "wxyz"}


def table(trajectory: BaseTrajectory) -> DataFrame:
    """Return a table of the states of a trajectory; see ``BaseTrajectory.to_pandas``."""
    with optional("pandas", "store"):
        import pandas
    shape = trajectory.m.shape[:-1]
    columns: dict[str, Any] = {}
    for name, array in trajectory.columns().items():
        if array.shape == shape:
            columns[name] = array.reshape(-1)
        else:
            letters = COMPONENTS[array.shape[-1]]
            columns |= {f"{name}_{c}": array[..., i].reshape(-1) for i, c in enumerate(letters)}
    bodies = body_dimensions(shape[1:])
    rows = [trajectory.t, *map(np.arange, shape[1:])]
    index = pandas.MultiIndex.from_product(rows, names=["t", *bodies]) if bodies else pandas.Index(rows[0], name="t")
    return pandas.DataFrame(columns, index=index)


def body_dimensions(batch: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of the dimensions of a batch."""
    return ("body",) if len(batch) == 1 else tuple(f"body_{i}" for i in range(len(batch)))
