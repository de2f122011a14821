"""Robustness of a study: maps and curves."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.show.charts.study_maps import study_curves, study_maps
from equipoise.study.cells import fraction_interval
from equipoise.study.outcomes import Outcome
from equipoise.study.parameters import Parameter
from equipoise.study.table import StudyTable


@pytest.fixture(scope="module")
def table() -> StudyTable:
    """Return a grid of 3 offsets, 2 frictions and 20 seeds; one run failed."""
    offset, friction, seed = (
        axis.ravel()
        for axis in np.meshgrid([-1.0, 0.0, 1.0], [0.3, 0.8], np.arange(20.0))
    )
    survived = ((offset == 0.0) | (seed < 5)).astype(np.float64)
    error = np.abs(offset) + 0.01 * seed
    failed = int(np.flatnonzero((offset == 1.0) & (friction == 0.3))[0])
    survived[failed] = error[failed] = np.nan
    columns = {
        "offset": offset,
        "friction": friction,
        "seed": seed,
        "only": np.ones(len(seed)),
        "survived": survived,
        "error_m.max": error,
    }
    own = [
        Parameter(name, "m", name) for name in ("offset", "friction", "seed", "only")
    ]
    outcomes = (
        Outcome("survived", "", "whether it stands", "bool"),
        Outcome("error_m.max", "m", "an error", "float"),
    )
    return StudyTable(tuple(own), outcomes, columns, len(seed))


def test_maps_are_means_of_cells(table: StudyTable) -> None:
    """Fractions and counts of each cell, by hand; a parameter of one value has none."""
    (drawn,) = study_maps(table, "survived", ["friction", "offset", "only"])
    assert (drawn.across.name, drawn.up.name) == ("offset", "friction")
    assert drawn.values == pytest.approx(
        np.array([[0.25, 1.0, 4.0 / 19.0], [0.25, 1.0, 0.25]])
    )
    assert drawn.counts.tolist() == [[20, 20, 19], [20, 20, 20]]
    assert (drawn.shades == drawn.values).all()
    (error,) = study_maps(table, "error_m.max", ["offset", "friction"])
    assert error.values[1] == pytest.approx([1.095, 0.095, 1.095])
    assert (error.shades.min(), error.shades.max()) == (0.0, 1.0)
    assert error.title == "Largest error, mean of the runs"


def test_curves_have_intervals(table: StudyTable) -> None:
    """Wilson's of fractions, and those of means."""
    drawn, _ = study_curves(table, "survived", ["offset", "only", "seed"])
    assert drawn.cells.names == ("−1", "0", "1")
    assert drawn.values == pytest.approx([0.25, 1.0, 9.0 / 39.0])
    for k, count in enumerate((10, 40, 9)):
        ends = drawn.lower[k], drawn.upper[k]
        assert ends == pytest.approx(fraction_interval(count, (40, 40, 39)[k]))
    (error,) = study_curves(table, "error_m.max", ["offset"])
    spread = np.std(np.tile(0.01 * np.arange(20), 2), ddof=1)
    half = 1.96 * spread / np.sqrt(40)
    assert error.upper[0] - error.values[0] == pytest.approx(half)


def test_unknown_names(table: StudyTable) -> None:
    """They are refused, and the known ones said."""
    with pytest.raises(EquipoiseError, match=r"choose from survived, error_m\.max"):
        study_maps(table, "fell", ["offset"])
    with pytest.raises(EquipoiseError, match="'mass' was not varied; choose from off"):
        study_curves(table, "survived", ["mass"])
