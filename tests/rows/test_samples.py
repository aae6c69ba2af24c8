"""A sample of the rows of a pile is every third row, say, wherever they are held."""

import numpy as np
import pytest

from tests.checks import close, make_data
from unseen import ESZSL
from unseen.rows.pile import Pile

da = pytest.importorskip("dask.array")


@pytest.mark.parametrize("step", [1, 3, 7])
def test_workers_sample_the_rows_that_memory_would(step):
    from unseen.rows.distributed_rows import DaskPile

    data = make_data()
    model = ESZSL().fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    )
    axes, X = np.random.default_rng(0).normal(size=(16, 3)), data.X_seen
    sizes = (10, 25, 1, 40, len(X) - 76)
    ours = DaskPile(model, da.from_array(X, chunks=(sizes, -1))).hold(axes, True)
    theirs = Pile(X).hold(axes, True)
    close(ours.sample(step), theirs.sample(step), digits=10)
    assert len(ours.sample(step)) == -(-len(X) // step)
