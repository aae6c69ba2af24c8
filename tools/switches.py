"""Count how often an adapt goes from one file of the package to another.

    python tools/switches.py [-v]

A switch is a call of a function that stands in another file than the function of the
package that called it, directly or through a library. Fewer switches are an easier walk
for a reader. Rows come from memory, from chunks, and from Dask chunks in one thread.
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np

import unseen
from unseen import TSTD, AnchoredSelfTraining

PACKAGE = str(Path(unseen.__file__).parent)


def switches(work) -> Counter:
    """Return how often each pair of files was switched between during some work."""
    found: Counter = Counter()
    files: list[str] = []

    def look(frame, event, _):
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE):
            return
        if event == "call":
            if files and files[-1] != name:
                found[Path(files[-1]).name, Path(name).name] += 1
            files.append(name)
        elif event == "return" and files:
            files.pop()

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def main() -> None:
    """Print the switches of an adapt for each way that rows can come."""
    import dask
    import dask.array as da

    rng = np.random.default_rng(0)
    A, y = rng.uniform(size=(20, 10)), np.repeat(np.arange(20), 100)
    X = (A @ rng.normal(size=(10, 30)))[y] + 0.5 * rng.normal(size=(2000, 30))
    seen = y < 15
    pile = X[~seen]
    for method in (AnchoredSelfTraining, TSTD):
        for way in ("memory", "stream", "dask"):
            model = method().fit(X[seen], y[seen], class_embeddings=A)
            given = {
                "memory": pile,
                "stream": [pile[i : i + 100] for i in range(0, len(pile), 100)],
                "dask": da.from_array(pile, chunks=(100, 30)),
            }[way]
            with dask.config.set(scheduler="synchronous"):
                found = switches(lambda m=model, g=given: m.adapt(g))
            print(method.__name__, way, found.total(), len(model.rounds_), "rounds")
            if "-v" in sys.argv:
                for pair, n in found.most_common(12):
                    print("   ", n, " -> ".join(pair))


if __name__ == "__main__":
    main()
