"""Images and texts without any seen class: what the CLIP-era methods do there."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from unseen import (
    OTTER,
    AnchoredSelfTraining,
    EMDirichlet,
    TransCLIP,
    per_class_accuracy,
)


@pytest.fixture(scope="module")
def clip(request):
    """Prototypes and piles of benchmarks/clip_like.py, with a gap between the kinds."""
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    request.addfinalizer(lambda: sys.path.remove(folder))
    path = Path(folder) / "clip_like.py"
    spec = importlib.util.spec_from_file_location("clip_like", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make_clip_like(0)


def gain(method, texts, pile):
    X, y = pile
    before = per_class_accuracy(y, (X @ texts.T).argmax(axis=1))
    model = method.set_params(prototypes=texts).adapt(X)
    return per_class_accuracy(y, model.labels_) - before


def test_there_is_a_gap_between_images_and_texts(clip):
    texts, piles = clip
    X, _ = piles["equal sizes"]
    inside = (X @ X.T).mean(), (texts @ texts.T).mean()
    assert min(inside) > (X @ texts.T).mean() + 0.5


def test_transclip_gains_on_every_pile(clip):
    texts, piles = clip
    assert min(gain(TransCLIP(), texts, pile) for pile in piles.values()) > 0


def test_the_flagship_takes_the_same_input_and_gains_more(clip):
    texts, piles = clip
    flagship = {k: gain(AnchoredSelfTraining(), texts, p) for k, p in piles.items()}
    assert min(flagship.values()) > 0.1
    for method in (TransCLIP(), EMDirichlet(), OTTER(class_prior="uniform")):
        for name, pile in piles.items():
            assert flagship[name] > gain(method, texts, pile)


def test_otter_leans_on_its_prior(clip):
    """Right (equal sizes) it helps, wrong (half of the classes absent) it hurts."""
    texts, piles = clip
    uniform = OTTER(class_prior="uniform")
    assert gain(uniform, texts, piles["equal sizes"]) > 0.05
    assert gain(uniform, texts, piles["half absent"]) < -0.05
    assert abs(gain(OTTER(), texts, piles["equal sizes"])) < 0.05


def test_the_true_prior_mends_what_the_uniform_one_breaks(clip):
    texts, piles = clip
    X, y = piles["half absent"]
    sizes = np.bincount(y, minlength=len(texts)) + 1e-3
    known = gain(OTTER(class_prior=sizes), texts, (X, y))
    assert known > 0.05
    assert known > gain(OTTER(class_prior="uniform"), texts, (X, y)) + 0.15


def test_the_authors_weight_of_em_dirichlet_is_for_piles_of_few_classes(clip):
    """Twenty classes make a weight of four, which empties classes that are there."""
    texts, piles = clip
    X, _ = piles["equal sizes"]
    used = {
        w: len(np.unique(EMDirichlet(prototypes=texts, few_classes=w).adapt(X).labels_))
        for w in (0.0, None)
    }
    assert used[None] < used[0.0] == len(texts)
