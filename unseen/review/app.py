"""A review over HTTP: what the page asks, and what it gets.

GET  /                        the page
GET  /static/{file}           its scripts and styles
GET  /api/state               classes, sizes, check, learning
GET  /api/index?…             numbers of rows by class, in order, under a filter
GET  /api/items?rows=1,2      what is known of rows
GET  /api/small/{row}         a photo, small; /api/large/{row} as a screen shows it
GET  /api/text/{row}          a whole text
POST /api/answers             {tab, entries}: saved when it is answered
POST /api/undo | suggest | check | teach | carry
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from unseen.review.items import LARGE, SMALL
from unseen.review.journal import WORD_LETTERS, is_text
from unseen.review.session import RefusedError, Session

__all__ = ["make_app"]

KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
MOST_ITEMS, MOST_ASKED = 500, 1_000  # rows at a time
KEEP = {"Cache-Control": "private, max-age=86400"}
Body = dict[str, Any]


def make_app(session: Session) -> Starlette:
    """Return the app of a review, which answers anybody: see ``serve.Guard``."""
    folder = files("unseen.review").joinpath("static")
    static = {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}

    def page(request: Request) -> Response:
        return Response(static["page.html"], media_type="text/html")

    def file(request: Request) -> Response:
        name = request.path_params["name"]
        kind = KINDS.get(name.rpartition(".")[2])
        if name not in static or kind is None:
            return PlainTextResponse("There is no such file.", 404)
        return Response(static[name], media_type=kind)

    def state(request: Request) -> Response:
        return as_json(session.summary())

    def index(request: Request) -> Response:
        asked = request.query_params
        found = session.index(
            order=asked.get("order", "doubt"),
            label=asked.get("label"),
            least=as_share(asked.get("least", "0")),
            most=as_share(asked.get("most", "1")),
            changed="changed" in asked,
            mine="mine" in asked,
            not_mine="not_mine" in asked,
        )
        return as_json({"parts": found})

    def items(request: Request) -> Response:
        rows = request.query_params.get("rows", "").split(",")
        if len(rows) > MOST_ITEMS:
            raise RefusedError(f"rows are no list of at most {MOST_ITEMS} numbers.")
        return as_json({"items": session.details([row_of(text) for text in rows])})

    def small(request: Request) -> Response:
        return picture(request, SMALL)

    def large(request: Request) -> Response:
        return picture(request, LARGE)

    def picture(request: Request, side: int) -> Response:
        found = session.items.picture(row_of(request.path_params["row"]), side)
        if found is None:
            return PlainTextResponse("This cannot be shown.", 404)
        kind = "image/png" if found.startswith(b"\x89PNG") else "image/jpeg"
        return Response(found, media_type=kind, headers=KEEP)

    def text(request: Request) -> Response:
        return as_json({"text": session.items.text(row_of(request.path_params["row"]))})

    def row_of(number: str) -> int:
        last = len(session.ids) - 1
        if not number.isdecimal() or len(number) > 12 or int(number) > last:
            raise RefusedError(f"{number[:20]!r} is no row; rows are from 0 to {last}.")
        return int(number)

    def answers(body: Body) -> Body:
        entries = body.get("entries")
        if not isinstance(entries, list) or not all(
            isinstance(entry, dict) and entry.get("op") not in ("teach", "check")
            for entry in entries
        ):
            raise RefusedError("entries are no list of answers.")
        return {"seq": session.record(entries, word_of(body, "tab"))}

    def undo(body: Body) -> Body:
        entry = session.undo(word_of(body, "tab"), word_of(body, "uid"))
        return {"undone": entry and entry["op"]}

    def suggest(body: Body) -> Body:
        return {"rows": session.suggest(count_of(body))}

    def check(body: Body) -> Body:
        tab, uid = word_of(body, "tab"), word_of(body, "uid")
        return {"rows": session.check(count_of(body), uid, tab)}

    def teach(body: Body) -> Body:
        session.teach(word_of(body, "uid"), word_of(body, "tab"))
        return {"learning": session.learning.last}

    def carry(body: Body) -> Body:
        return {"carried": session.carry_over(word_of(body, "tab"))}

    gets = {"state": state, "index": index, "items": items}
    gets |= {"small/{row}": small, "large/{row}": large, "text/{row}": text}
    posts = [answers, undo, suggest, check, teach, carry]
    return Starlette(
        routes=[
            Route("/", page),
            Route("/static/{name}", file),
            *(Route(f"/api/{path}", get_route(work)) for path, work in gets.items()),
            *(
                Route(f"/api/{work.__name__}", post_route(work), methods=["POST"])
                for work in posts
            ),
        ]
    )


def get_route(work: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Return a handler that answers what makes no sense with the reason."""

    def handler(request: Request) -> Response:
        try:
            return work(request)
        except RefusedError as error:
            return as_json({"reason": str(error)}, 400)

    return handler


def post_route(
    work: Callable[[Body], Body],
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that reads JSON, works on a thread, and answers in JSON."""

    async def handler(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            return as_json({"reason": "This is no JSON."}, 400)
        if not isinstance(body, dict):
            return as_json({"reason": "Send a JSON object."}, 400)
        try:
            return as_json(await run_in_threadpool(work, body))
        except RefusedError as error:
            return as_json({"reason": str(error)}, 400)
        except OSError as error:  # such as a full disk: it is not saved
            reason = f"It is not saved: {error.strerror or error}."
            return as_json({"reason": reason}, 507)

    return handler


def as_json(content: Body, status: int = 200) -> Response:
    """Answer in JSON of plain ASCII, which holds stray bytes of names as well."""
    return Response(json.dumps(content), status, media_type="application/json")


def as_share(text: str) -> float:
    """Return a number from 0 to 1."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise RefusedError(f"{text[:20]!r} is no number from 0 to 1.")
    return share


def word_of(body: Body, name: str) -> str:
    """Return the name of the tab that asks, or of what it asks."""
    word = body.get(name, "")
    if not is_text(word, WORD_LETTERS):
        raise RefusedError(f"{name} is no text of at most {WORD_LETTERS} letters.")
    return word


def count_of(body: Body) -> int:
    """Return how many rows are asked for."""
    n = body.get("n", 10)
    if type(n) is not int or not 1 <= n <= MOST_ASKED:
        raise RefusedError(f"n is no number from 1 to {MOST_ASKED}.")
    return n
