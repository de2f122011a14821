"""What came of a study, over all of its rows, as plain data."""

from __future__ import annotations

from collections import Counter
from typing import Any

from equipoise.simulation.summary import versions
from equipoise.study.outcomes import SURVIVED
from equipoise.study.places import Place
from equipoise.study.runs import StudyRuns
from equipoise.study.safest_gait import safest_gait
from equipoise.study.sensitivity import sensitivities
from equipoise.study.store import ResultStore, Value
from equipoise.study.table import StudyTable

# Errors that a summary tells of.
MOST_ERRORS = 10


def summarise(
    runs: StudyRuns, store: ResultStore, place: Place, table: StudyTable
) -> dict[str, Any]:
    """Return the results of a study for ``summary.json``.

    Args:
        runs: Its runs.
        store: Their results, which are read one by one.
        place: Where they were done.
        table: The same as columns, or a part of them, for sensitivities and gaits.
    """
    study = runs.study
    names = study.columns
    at_survived = names.index(SURVIVED) if SURVIVED in names else None
    errors: Counter[str] = Counter()
    known = survived = 0
    spread = {own.name: _Spread() for own in study.outcomes if own.type != "str"}
    places = {name: names.index(name) for name in spread}
    for _, values in store.rows():
        if values[-1] is not None:
            errors[str(values[-1])] += 1
        if at_survived is not None and values[at_survived] is not None:
            known += 1
            survived += bool(values[at_survived])
        for name, at in places.items():
            spread[name].add(values[at])
    failed = sum(errors.values())
    count, used = len(runs), runs.experiment.device
    safest = safest_gait(table)
    sentence = f"{count} runs of {study.verb} with {study.robot.name}"
    if at_survived is not None and known:
        sentence += f": {survived} of {known} survived ({100 * survived / known:.1f} %)"
    if failed:
        sentence += f"; {failed} failed with an error"
    return {
        "verb": "study",
        "study": study.name,
        "title": study.title,
        "of": study.verb,
        "robot": study.robot.name,
        "law": study.law,
        "achieved": failed < count,
        "sentence": f"{sentence}.",
        "runs": count,
        "failed": failed,
        "survived": survived if at_survived is not None else None,
        "survived_fraction": survived / known if known else None,
        "errors": [
            {"error": words, "runs": number}
            for words, number in errors.most_common(MOST_ERRORS)
        ],
        "parameters": [
            {"name": own.name, "unit": own.unit, "meaning": own.meaning}
            for own in study.parameters
        ],
        "outcomes": {
            own.name: {
                "unit": own.unit,
                "meaning": own.meaning,
                **(spread[own.name].as_dict() if own.name in spread else {}),
            }
            for own in study.outcomes
        },
        "options": dict(study.options),
        "constants": dict(study.constants),
        "sampling": {
            "method": study.sampling.method,
            "count": study.sampling.count,
            "seed": study.sampling.seed,
        },
        "sensitivity": [
            own.as_dict() for own in sensitivities(table, study.sampling.method)
        ],
        "safest_gait": None if safest is None else safest.as_dict(),
        "on": place.on,
        "numbers": "float64" if used is None else used.dtype,
        "batch": runs.size,
        "notices": [] if place.notice is None else [place.notice],
        "versions": versions(),
    }


class _Spread:
    """Mean and range of a column, over rows that come one by one."""

    def __init__(self) -> None:
        self._count, self._sum = 0, 0.0
        self._least: float | None = None
        self._most: float | None = None

    def add(self, value: Value) -> None:
        """Count a value, if there is one."""
        if value is None or isinstance(value, str):
            return
        number = float(value)
        self._count, self._sum = self._count + 1, self._sum + number
        self._least = number if self._least is None else min(self._least, number)
        self._most = number if self._most is None else max(self._most, number)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        mean = self._sum / self._count if self._count else None
        known = {"known": self._count, "mean": mean}
        return {**known, "min": self._least, "max": self._most}
