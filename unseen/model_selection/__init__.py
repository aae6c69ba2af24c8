"""Choose hyper-parameters on seen classes: class-wise folds, and a search on them."""

from unseen.model_selection.folds import ClasswiseFolds
from unseen.model_selection.search import PAPER_GRID, PAPER_STAGES, ClasswiseSearchCV

__all__ = ["PAPER_GRID", "PAPER_STAGES", "ClasswiseFolds", "ClasswiseSearchCV"]
