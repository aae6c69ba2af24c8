"""Several views of the same rows: joined by hand, and by what a second view adds."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from unseen import AnchoredSelfTraining, GuidedMixture, join_views, load_model


def make_views(seed=0, n_classes=5, per_class=30, noise=1.6):
    """Return rows in two views that err apart, prototypes of both, and the truth."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), per_class)
    rows, named = {}, {}
    for view, d in (("looks", 12), ("words", 8)):
        true = rng.normal(size=(n_classes, d))
        rows[view] = true[y] + noise * rng.normal(size=(len(y), d))
        named[view] = true + 0.5 * rng.normal(size=true.shape)
    return rows, named, y


def test_cosines_of_joined_rows_are_the_mean_of_the_views_cosines():
    rows, named, _ = make_views()
    joined, prototypes = join_views(rows), join_views(named)
    for i, c in ((0, 1), (7, 4)):
        by_view = [
            rows[v][i]
            @ named[v][c]
            / np.sqrt(sum(rows[v][i] ** 2) * sum(named[v][c] ** 2))
            for v in rows
        ]
        assert_allclose(joined[i] @ prototypes[c], np.mean(by_view))


def test_float32_views_stay_float32():
    rows, _, _ = make_views()
    small = join_views({v: r.astype(np.float32) for v, r in rows.items()})
    assert small.dtype == np.float32
    assert_allclose(small, join_views(rows), rtol=1e-5, atol=1e-7)


def test_a_model_of_views_is_the_model_of_joined_rows():
    rows, named, _ = make_views()
    model = GuidedMixture.from_prototypes(named).adapt(rows)
    by_hand = GuidedMixture.from_prototypes(join_views(named)).adapt(join_views(rows))
    assert_array_equal(model.labels_, by_hand.labels_)
    assert_allclose(model.reliability_, by_hand.reliability_)
    turned = dict(reversed(rows.items()))  # views go by name, not by place
    assert_allclose(
        model.decision_function(turned), by_hand.decision_function(rows_of(rows))
    )


def rows_of(rows):
    return np.hstack([r / np.linalg.norm(r, axis=1)[:, None] for r in rows.values()])


def test_two_views_know_more_than_either():
    rows, named, y = make_views(noise=1.8)
    both = GuidedMixture.from_prototypes(named).adapt(rows).labels_
    alone = [
        (GuidedMixture.from_prototypes(named[v]).adapt(rows[v]).labels_ == y).mean()
        for v in rows
    ]
    assert (both == y).mean() > max(alone)


def test_a_view_without_prototypes_helps_by_its_clusters():
    rows, named, y = make_views(1, noise=1.3)
    one = GuidedMixture.from_prototypes(named["words"]).adapt(rows["words"])
    model = GuidedMixture.from_prototypes({"looks": 12, "words": named["words"]})
    assert (model.adapt(rows).labels_ == y).mean() > (one.labels_ == y).mean()
    before = GuidedMixture.from_prototypes(named["words"]).predict(rows["words"])
    fresh = GuidedMixture.from_prototypes({"looks": 12, "words": named["words"]})
    assert_array_equal(fresh.predict(rows), before)  # nothing learned, nothing added


def test_frames_name_the_classes_in_any_order():
    rows, named, _ = make_views()
    names = list("abcde")
    frames = {v: pd.DataFrame(P, index=names) for v, P in named.items()}
    frames["words"] = frames["words"].iloc[::-1]
    model = GuidedMixture.from_prototypes(frames).adapt(rows)
    plain = GuidedMixture.from_prototypes(named).adapt(rows)
    assert_array_equal(model.labels_, np.array(names)[plain.labels_])


def test_a_stored_model_still_knows_its_views(tmp_path):
    rows, named, _ = make_views()
    model = GuidedMixture.from_prototypes(named).adapt(rows)
    model.save(tmp_path / "model.unseen")
    read = load_model(tmp_path / "model.unseen")
    assert_allclose(read.predict_proba(rows), model.predict_proba(rows))


def test_joined_rows_serve_a_model_with_seen_classes():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(14, 6))
    y = np.repeat(np.arange(14), 25)
    views = {
        v: (table @ rng.normal(size=(6, d)))[y] + 2.5 * rng.normal(size=(len(y), d))
        for v, d in (("a", 20), ("b", 15))
    }
    seen = y < 10

    def right(X):
        model = AnchoredSelfTraining().fit(X[seen], y[seen], class_embeddings=table)
        return (model.adapt(X[~seen]).labels_ == y[~seen]).mean()

    assert right(join_views(views)) > max(right(views["a"]), right(views["b"]))


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ({"a": np.ones((3, 2)), "b": np.ones((4, 2))}, "'b' has 4 rows, but view 'a'"),
        ({"a": np.ones(3)}, r"'a' has shape \(3,\)"),
    ],
)
def test_views_that_do_not_fit_together_are_refused(views, message):
    with pytest.raises(ValueError, match=message):
        join_views(views)


def test_views_must_be_those_of_the_prototypes():
    rows, named, _ = make_views()
    with pytest.raises(ValueError, match="for looks, words"):
        GuidedMixture.from_prototypes(named).adapt({"looks": rows["looks"]})
    with pytest.raises(ValueError, match="for none"):
        GuidedMixture.from_prototypes(named["looks"]).adapt({"looks": rows["looks"]})
    with pytest.raises(ValueError, match="None of the 1 views has prototypes"):
        GuidedMixture.from_prototypes({"looks": 12})
    with pytest.raises(TypeError, match="Views were given as list"):
        join_views([rows["looks"]])
