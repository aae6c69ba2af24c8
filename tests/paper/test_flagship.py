"""Anchored self-training on real features: its figures, and never below its start."""

import numpy as np
import pytest

from unseen import AnchoredSelfTraining, ClasswiseFolds, load_data, per_class_accuracy
from unseen.core.classes import encode

pytestmark = pytest.mark.filterwarnings(
    "ignore::unseen.transduction.anchored.WeakStartWarning"
)

# Per-class top-1 in %: before and after adapting. The method draws nothing; half a
# point is room for another BLAS, whose rounding may turn single labels.
FIGURES = {
    "cub_vgg": {
        "att_312": (57.8, 74.8),
        "sent_1024": (76.3, 79.0),
        "glove_100": (17.4, 20.6),
        "att_312+sent_1024": (73.0, 78.6),
    },
    "awa1_shallow": {
        "att_continuous": (44.6, 57.5),
        "att_binary": (39.3, 53.8),
        "wordvec_1000": (38.2, 55.0),
        "att_continuous+wordvec_1000": (45.5, 57.5),
    },
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_on_every_class_table(shared_data, name):
    path = shared_data / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path.name} is absent")
    singles = [tables for tables in FIGURES[name] if "+" not in tables]
    data = load_data(path, classes=singles)  # once, all tables side by side
    folds = ClasswiseFolds(data.X_seen, data.y_seen)  # sums once, for every table
    pile, y = data.X_unseen, data.y_unseen
    for tables, figures in FIGURES[name].items():
        several = tables.split("+") if "+" in tables else tables
        chosen = data.class_embeddings[several]
        model = AnchoredSelfTraining()
        folds.fit_all(model, chosen, encode(data.y_seen, chosen)[0])
        before = 100 * per_class_accuracy(y, model.predict(pile))
        after = 100 * per_class_accuracy(y, model.adapt(pile).labels_)
        assert np.abs(np.subtract((before, after), figures)).max() <= 0.5, tables
        assert after > before, tables
