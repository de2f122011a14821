"""One lock around Warp, and results that are made only once under it.

Warp's own state (types, functions, modules, log level) is made for one thread. Two
threads that build the same type at the same time get two types, and kernels of one
refuse arrays of the other.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

# Whoever calls Warp holds it; re-entrant, as what is made once makes other things.
lock = threading.RLock()


def once(make: Callable[[*Arguments], Result]) -> Callable[[*Arguments], Result]:
    """Keep what a function returns for each set of arguments.

    Unlike :func:`functools.cache`, threads that ask for the same at the same time
    get the same. A call that raises is tried again by the next.
    """
    made: dict[tuple[object, ...], Result] = {}

    @functools.wraps(make)
    def known_or_made(*arguments: *Arguments) -> Result:
        if arguments not in made:
            with lock:
                if arguments not in made:
                    made[arguments] = make(*arguments)
        return made[arguments]

    return known_or_made
