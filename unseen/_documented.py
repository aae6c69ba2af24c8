"""Where an estimator is explained, for the page that notebooks show of it."""

from __future__ import annotations

import unseen

__all__ = ["DOCUMENTATION", "Documented"]

DOCUMENTATION = "https://unseen.readthedocs.io/en/latest/"


class Documented:
    """Mixin that links an estimator to its page, as scikit-learn's HTML shows it."""

    _doc_link_module = "unseen"
    _doc_link_template = f"{DOCUMENTATION}api/generated/unseen.{{name}}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}

    def _get_doc_link(self) -> str:
        # What is not public has no page.
        public = type(self).__name__ in unseen.__all__
        return super()._get_doc_link() if public else ""  # type: ignore[misc]
