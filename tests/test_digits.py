"""What the README says of its toy: other digits unseen, as many losses as gains."""

import itertools
import warnings

import numpy as np
import pytest

from unseen import AnchoredSelfTraining, load_data, per_class_accuracy
from unseen.transduction.anchored import WeakStartWarning


@pytest.mark.slow
def test_with_other_digits_unseen_it_loses_about_as_often_as_it_gains():
    digits = load_data("digits")
    gains = []
    for unseen in itertools.islice(itertools.combinations("0123456789", 3), 0, None, 2):
        data = digits.with_unseen(list(unseen))
        model = AnchoredSelfTraining().fit(
            data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
        )
        before = per_class_accuracy(data.y_unseen, model.predict(data.X_unseen))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakStartWarning)
            model.adapt(data.X_unseen)
        gains.append(per_class_accuracy(data.y_unseen, model.labels_) - before)
    gains = np.array(gains)
    lost, won = (gains < -0.05).sum(), (gains > 0.05).sum()
    assert len(gains) == 60
    assert 0.6 < lost / won < 1.6
    assert 0 < gains.mean() < 0.1
