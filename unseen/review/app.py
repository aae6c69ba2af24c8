"""A review over HTTP: what the page asks, and what it is told.

GET  /                        the page
GET  /static/{file}           its scripts and styles
GET  /api/state               classes, sizes, check, lesson
GET  /api/index?…             numbers of rows by class, in order, under a filter
GET  /api/items?rows=1,2      what is known of rows
GET  /api/small/{row}         a photo, small; /api/large/{row} as a screen shows it
GET  /api/text/{row}          a whole text
POST /api/answers             {tab, entries}: saved when it is answered
POST /api/undo | suggest | check | teach
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from unseen.review.guard import Guard
from unseen.review.lessons import RefusedError
from unseen.review.session import Session

__all__ = ["make_app"]

KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
MOST_ITEMS = 500
MOST_ASKED = 1_000
KEEP = {"Cache-Control": "private, max-age=86400"}


def make_app(session: Session, token: str, port: int) -> Guard:
    """Return the guarded app of a review."""
    static = read_static()

    def page(request: Request) -> Response:
        return Response(static["page.html"], media_type="text/html")

    def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in static or name == "page.html":
            return PlainTextResponse("There is no such file.", 404)
        return Response(static[name], media_type=KINDS[name.rsplit(".", 1)[1]])

    def state(request: Request) -> Response:
        return as_json(session.state())

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
        if len(rows) > MOST_ITEMS or not all(text.isdecimal() for text in rows):
            raise RefusedError(f"rows are no list of at most {MOST_ITEMS} numbers.")
        return as_json({"items": session.items([int(text) for text in rows])})

    def small(request: Request) -> Response:
        return picture(session.things.small(row_of(request, session)))

    def large(request: Request) -> Response:
        return picture(session.things.large(row_of(request, session)))

    def text(request: Request) -> Response:
        return as_json({"text": session.things.text(row_of(request, session))})

    def answers(body: dict[str, Any]) -> dict[str, Any]:
        entries = body.get("entries")
        if not isinstance(entries, list) or not all(
            isinstance(entry, dict) and entry.get("op") not in ("teach", "check")
            for entry in entries
        ):
            raise RefusedError("entries are no list of answers.")
        return {"seq": session.say(entries, tab_of(body))}

    def undo(body: dict[str, Any]) -> dict[str, Any]:
        entry = session.undo(tab_of(body), uid_of(body))
        return {"undone": entry and entry["op"], "seq": len(session.journal.entries)}

    def suggest(body: dict[str, Any]) -> dict[str, Any]:
        return {"rows": session.suggest(count_of(body))}

    def check(body: dict[str, Any]) -> dict[str, Any]:
        return {"rows": session.check(count_of(body), uid_of(body), tab_of(body))}

    def teach(body: dict[str, Any]) -> dict[str, Any]:
        session.teach(uid_of(body), tab_of(body))
        return {"lesson": session.lessons.last}

    routes = [
        Route("/", page),
        Route("/static/{name}", file),
        Route("/api/state", asked(state)),
        Route("/api/index", asked(index)),
        Route("/api/items", asked(items)),
        Route("/api/small/{row:int}", asked(small)),
        Route("/api/large/{row:int}", asked(large)),
        Route("/api/text/{row:int}", asked(text)),
        Route("/api/answers", json_route(answers), methods=["POST"]),
        Route("/api/undo", json_route(undo), methods=["POST"]),
        Route("/api/suggest", json_route(suggest), methods=["POST"]),
        Route("/api/check", json_route(check), methods=["POST"]),
        Route("/api/teach", json_route(teach), methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes), token, port)


def read_static() -> dict[str, bytes]:
    """Return the files of the page by name; nothing else can be asked for."""
    folder = files("unseen.review").joinpath("static")
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


def asked(handler: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Return a handler that answers what makes no sense with the reason."""

    def guarded(request: Request) -> Response:
        try:
            return handler(request)
        except RefusedError as error:
            return as_json({"reason": str(error)}, 400)

    return guarded


def json_route(
    work: Callable[[dict[str, Any]], dict[str, Any]],
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that reads JSON, works on a thread, and answers in JSON."""

    async def guarded(request: Request) -> Response:
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
            return as_json({"reason": f"It is not saved: {error.strerror}."}, 507)

    return guarded


def as_json(content: dict[str, Any], status: int = 200) -> JSONResponse:
    """Answer in JSON."""
    return JSONResponse(content, status)


def picture(jpeg: bytes | None) -> Response:
    """Answer with a picture, or say that there is none."""
    if jpeg is None:
        return PlainTextResponse("This cannot be shown.", 404)
    kind = "image/png" if jpeg.startswith(b"\x89PNG") else "image/jpeg"
    return Response(jpeg, media_type=kind, headers=KEEP)


def row_of(request: Request, session: Session) -> int:
    """Return the number of the row that is asked for."""
    row = request.path_params["row"]
    if row >= len(session.ids):
        raise RefusedError(
            f"There is no row {row}; the last is {len(session.ids) - 1}."
        )
    return row


def as_share(text: str) -> float:
    """Return a number from 0 to 1."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise RefusedError(f"{text[:20]!r} is no number from 0 to 1.")
    return share


def tab_of(body: dict[str, Any]) -> str:
    """Return the name of the tab that asks."""
    return str(body.get("tab", ""))[:64]


def uid_of(body: dict[str, Any]) -> str:
    """Return the name of a request, by which it is known if it comes again."""
    return str(body.get("uid", ""))[:64]


def count_of(body: dict[str, Any]) -> int:
    """Return how many rows are asked for."""
    n = body.get("n", 10)
    if type(n) is not int or not 1 <= n <= MOST_ASKED:
        raise RefusedError(f"n is no number from 1 to {MOST_ASKED}.")
    return n
