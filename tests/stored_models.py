"""Models of a release, kept so that later releases prove they can read them.

    python tests/stored_models.py [NAME...]    write them, or those named, anew

A folder is never written again once its release is out.
"""

import inspect
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

import unseen
from unseen.photos.named import NamedPhotos
from unseen.storage import save_model
from unseen.texts.named import NamedTexts

FOLDER = Path(__file__).parent / "models_0_1"
ANSWERS = FOLDER / "answers.json"


def public_estimators():
    """Make one of every public estimator."""
    needed = {
        "estimator": unseen.ESZSL(),
        "param_grid": {"gamma": [0.1, 1.0]},
    }
    made = {}
    for name in unseen.__all__:
        kind = getattr(unseen, name)
        if not (inspect.isclass(kind) and issubclass(kind, BaseEstimator)):
            continue
        given = {
            p.name: needed[p.name]
            for p in inspect.signature(kind).parameters.values()
            if p.default is p.empty and p.kind is not p.VAR_KEYWORD
        }
        made[name] = kind(**given)
    made["ClasswiseSearchCV"].set_params(n_folds=3)
    made["Calibrated"].set_params(cv=3, estimator=unseen.AnchoredSelfTraining())
    return made


def make_rows():
    """Return a pile, labelled rows of six classes and a table of nine."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(9, 4)), index=list("abcdefghi"))
    means = table.to_numpy() @ rng.normal(size=(4, 6))
    rows = np.repeat(means, 8, axis=0) + 0.5 * rng.normal(size=(72, 6))
    names = np.repeat(table.index.to_numpy(str), 8)
    seen = names < "g"
    return rows[~seen], rows[seen], names[seen], table


def stored_answers():
    """Return the pile, and by model what each answered when it was stored."""
    stored = json.loads(ANSWERS.read_text())
    answers = {name: np.array(scores) for name, scores in stored["answers"].items()}
    return np.array(stored["pile"]), answers


def scored(model, X):
    """Return a model's scores of the rows, or the rows as it carries them over."""
    for method in ("decision_function", "transform", "predict_proba"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X))
    raise TypeError(f"{model} has no answer")


class Encoder:
    """Reads names of photos and texts into the same space, by their first letter."""

    name = space = "letters"

    def encode(self, texts):
        return np.array([[ord(text[0]) % k for k in range(2, 8)] for text in texts])


def others():
    """Make what is no public name of its own: of photos, and a pipeline."""
    # Not MaxAbsScaler: scikit-learn gave it a parameter that older ones do not know.
    scalers = MinMaxScaler(), RobustScaler(), StandardScaler()
    steps = *scalers, Normalizer(), PCA(4), unseen.ESZSL()
    photos = NamedPhotos(Encoder(), Encoder()).fit(["cat", "dog", "owl"])
    texts = NamedTexts(Encoder()).fit(["cat", "dog", "owl"])
    named = {"NamedPhotos": photos, "NamedTexts": texts}
    return {"Pipeline": make_pipeline(*steps), **named}


def learned(model, pile, X, y, table):
    """Fit a model, and adapt it where it can."""
    if hasattr(model, "classes_"):
        return model.adapt(pile)  # its names are known
    table_name = "class_embeddings"
    if isinstance(model, Pipeline):
        table_name = f"{model.steps[-1][0]}__{table_name}"
    elif table_name not in inspect.signature(model.fit).parameters:
        return model.fit(X, y)
    model.fit(X, y, **{table_name: table})
    return model.adapt(pile) if hasattr(model, "adapt") else model


def main(names):
    """Write every model, or those named, and what they answer."""
    pile, X, y, table = make_rows()
    FOLDER.mkdir(exist_ok=True)
    known = public_estimators() | others()
    answers = json.loads(ANSWERS.read_text())["answers"] if names else {}
    for name, model in known.items():
        if names and name not in names:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # eight rows a class are few
            learned(model, pile, X, y, table)
        path = FOLDER / f"{name}.unseen"
        model.save(path) if hasattr(model, "save") else save_model(model, path)
        answers[name] = scored(model, pile).tolist()
    lines = [f"{json.dumps(k)}:{json.dumps(answers[k])}" for k in sorted(answers)]
    together = ",\n".join(lines)  # a line each: a change of one shows as one
    ANSWERS.write_text(f'{{"pile":{pile.tolist()},\n"answers":{{\n{together}\n}}}}\n')
    print(f"{FOLDER}: {len(answers)} models")


if __name__ == "__main__":
    main(sys.argv[1:])
