"""A large pile and names alone: seconds and memory of ``GuidedMixture``.

    python benchmarks/names.py                      100,000 × 512, 100 classes
    python benchmarks/names.py --rows 20000 --threads 1

Rows are made around class means; prototypes are those means, off by as much as they are
apart. CPU seconds stand beside wall seconds, because other work on the machine does not
change them much. Exit code 1 if the pile took more CPU than two cores have in the wall
time allowed, or more memory.
"""

import argparse
import os
import resource
import sys
import time

SECONDS, GIGABYTES, CORES = 60, 3.0, 2


def main() -> int:
    """Make a pile, adapt to it, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--threads", type=int, default=CORES)
    asked = parser.parse_args()
    for library in ("OPENBLAS", "MKL", "OMP"):  # before NumPy is loaded
        os.environ[f"{library}_NUM_THREADS"] = str(asked.threads)
    import numpy as np

    from unseen import GuidedMixture

    rng = np.random.default_rng(0)
    shape = asked.classes, asked.features
    means = rng.standard_normal(shape, dtype=np.float32)
    truth = rng.integers(asked.classes, size=asked.rows)
    X = 1.5 * rng.standard_normal((asked.rows, asked.features), dtype=np.float32)
    X += means[truth]
    prototypes = means + rng.standard_normal(shape, dtype=np.float32)
    wall, cpu = time.perf_counter(), time.process_time()
    model = GuidedMixture.from_prototypes(prototypes).adapt(X)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    right = float(np.mean(model.labels_ == truth))
    print(
        f"{asked.rows:,} x {asked.features}, {asked.classes} classes: "
        f"{wall:.0f} s wall, {cpu:.0f} s CPU, {memory:.1f} GB at most, "
        f"{len(model.rounds_)} rounds, {100 * right:.1f} % right"
    )
    return int(cpu > SECONDS * CORES or memory > GIGABYTES)


if __name__ == "__main__":
    sys.exit(main())
