"""Print the table of docs/guide/models.md: both readings on data sets of your own.

    python docs/measure_readings.py cub_vgg.npz:att_312 awa1_shallow.npz:att_continuous

Each argument is a file or the name of a bundled set, with a class table after a
colon if the first is not the one meant.
"""

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

from unseen import JEDM, TSTD, ZeroShotData, load_data, per_class_accuracy

SETTINGS = {
    "`reference`": {"variant": "reference"},
    "`paper`": {"variant": "paper"},
    "`paper`, alpha .01, beta 100": {"variant": "paper", "alpha": 0.01, "beta": 100.0},
}


def measure(data: ZeroShotData, settings: dict) -> list[float]:
    """Per-class accuracy of JEDM, JEDM adapted, TSTD's last round and its oracle."""
    seen, table = (data.X_seen, data.y_seen), data.class_embeddings
    pile, truth = data.X_unseen, data.y_unseen
    jedm = JEDM(**settings).fit(*seen, class_embeddings=table)
    inductive = jedm.predict(pile)
    adapted = jedm.adapt(pile).labels_
    rounds = TSTD(**settings).fit(*seen, class_embeddings=table).adapt(pile).rounds_
    answers = [inductive, adapted, *(one.labels for one in rounds)]
    found = [per_class_accuracy(truth, labels) for labels in answers]
    return [*found[:2], found[-1], max(found[1:])]


def main() -> None:
    """Measure every data set named on the command line."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| data | chance | reading | JEDM | JEDM, adapted | TSTD, last | oracle |")
    print("|---|---|---|---|---|---|---|")
    for argument in sys.argv[1:]:
        source, _, table = argument.partition(":")
        data = load_data(source, classes=table or None)
        for name, settings in SETTINGS.items():
            cells = [1 / len(data.unseen), *measure(data, settings)]
            chance, *others = [f"{100 * cell:.1f}" for cell in cells]
            print("|", " | ".join([data.name, chance, name, *others]), "|", flush=True)


if __name__ == "__main__":
    main()
