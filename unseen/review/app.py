"""A review over HTTP, for one browser on this machine, until Ctrl-C or another signal.

GET  /                        the page
GET  /static/{file}           its scripts and styles
GET  /api/state               classes, sizes, check, learning
GET  /api/index?…             numbers of rows by class, in order, under a filter
GET  /api/items?rows=1,2      what is known of rows
GET  /api/small/{row}         a photo, small; /api/large/{row} as a screen shows it
GET  /api/text/{row}          a whole text
POST /api/answers             {tab, entries}: saved when it is answered
POST /api/undo | suggest | check | teach | carry

A request is let through if

    Host             is 127.0.0.1:port or localhost:port: no other name leads here
    first part of    is the token: only who was told the address knows it
      the path
    Origin, if told, is our own; every POST must tell it, and bring JSON

Every answer forbids the page to talk to anyone else or to be framed by anyone. The
browser is started with a link that leads to the address once: other users can see the
command lines of programs, and a token in them would be theirs as well.
"""

from __future__ import annotations

import hmac
import json
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.resources import files
from typing import Any

from unseen._command import needs_extra
from unseen.review.items import LARGE, SMALL
from unseen.review.journal import WORD_LETTERS, is_text
from unseen.review.session import RefusedError, Session

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError as error:
    name = error.name or "starlette"
    raise needs_extra(name, "review", "Reviewing labels") from None

__all__ = ["Guard", "make_app", "serve"]

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src "
    "'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
MOST_ITEMS, MOST_ASKED = 500, 1_000  # rows at a time
MOST_BYTES = 8 * 2**20  # of a request
ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
Body = dict[str, Any]


def make_app(session: Session) -> Starlette:
    """Return the app of a review, which answers anybody: see :class:`Guard`."""
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

    def picture(request: Request) -> Response:
        side = {"small": SMALL, "large": LARGE}.get(request.path_params["size"])
        found = side and session.items.picture(row_of(request.path_params["row"]), side)
        if not found:
            return PlainTextResponse("This cannot be shown.", 404)
        kind = "image/png" if found.startswith(b"\x89PNG") else "image/jpeg"
        keep = {"Cache-Control": "private, max-age=86400"}
        return Response(found, media_type=kind, headers=keep)

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

    def refused(request: Request, error: Exception) -> Response:
        return as_json({"reason": str(error)}, 400)

    def not_saved(request: Request, error: Any) -> Response:  # such as a full disk
        reason = f"It is not saved: {error.strerror or error}."
        return as_json({"reason": reason}, 507)

    gets = {"state": state, "index": index, "items": items}
    gets |= {"text/{row}": text, "{size}/{row}": picture}
    posts = [answers, undo, suggest, check, teach, carry]
    return Starlette(
        routes=[
            Route("/", page),
            Route("/static/{name}", file),
            *(Route(f"/api/{path}", work) for path, work in gets.items()),
            *(
                Route(f"/api/{work.__name__}", post_route(work), methods=["POST"])
                for work in posts
            ),
        ],
        exception_handlers={RefusedError: refused, OSError: not_saved},
    )


def post_route(
    work: Callable[[Body], Body],
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that reads JSON, works on a thread, and answers in JSON."""

    async def handler(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            raise RefusedError("This is no JSON.") from None
        if not isinstance(body, dict):
            raise RefusedError("Send a JSON object.")
        return as_json(await run_in_threadpool(work, body))

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


class Guard:
    """Lets requests through to an app below the token, or refuses them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.port, self.token = app, 0, secrets.token_urlsafe(24)
        self.once: str | None = secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        refusal = self._why_not(scope)
        if refusal:
            answer: Any = PlainTextResponse(*refusal, headers=HEADERS)
            await answer(scope, receive, send)
            return
        if self.once is not None and same(scope["path"][1:], self.once):
            self.once = None
            no_store = {"Cache-Control": "no-store"}
            answer = RedirectResponse(f"/{self.token}/", 303, HEADERS | no_store)
            await answer(scope, receive, send)
            return
        inner: dict[str, Any] = dict(scope)
        inner["path"] = scope["path"][len(self.token) + 1 :] or "/"
        inner["root_path"] = ""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(inner, receive, send_guarded)

    def _why_not(self, scope: Scope) -> tuple[str, int] | None:
        headers, path = Headers(scope=scope), scope["path"].strip("/")
        hosts = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if headers.get("host", "") not in hosts:
            return "This address is not ours.", 421
        if self.once is not None and same(path, self.once):
            return None
        if not same(path.split("/")[0], self.token):
            return "Open the address that unseen review printed.", 403
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "same-origin")
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            return "Another site may not ask.", 403
        if scope["method"] not in ("GET", "HEAD"):
            if origin is None or site != "same-origin":
                return "Another site may not ask.", 403
            if not headers.get("content-type", "").startswith("application/json"):
                return "Send JSON.", 415
            length = headers.get("content-length", "")
            if not length.isdecimal() or len(length) > 9 or int(length) > MOST_BYTES:
                return "That is too much at once.", 413
        elif site not in ("same-origin", "none"):
            if path != self.token or headers.get("sec-fetch-mode") != "navigate":
                return "Another site may not ask.", 403
        return None


def same(one: str, other: str) -> bool:
    """Compare secrets in a time that tells nothing of them."""
    return hmac.compare_digest(one.encode(), other.encode())


def serve(
    session: Session, *, port: int = 0, ready: Callable[[str, str], None]
) -> bool:
    """Serve a review until it is interrupted, then close it: see :meth:`Session.close`.

    ``ready`` is called as soon as the page can be opened, with its address and a link
    that leads there once. Port 0 is any that is free.
    """
    guard = Guard(make_app(session))
    config = uvicorn.Config(
        guard,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
    server: Any = uvicorn.Server(config)
    server.capture_signals = nullcontext  # its own would end us before we close
    startup = server.startup

    async def start_and_tell(sockets: Any = None) -> None:
        await startup(sockets=sockets)
        root = f"http://127.0.0.1:{guard.port}"
        ready(f"{root}/{guard.token}/", f"{root}/{guard.once}")

    server.startup = start_and_tell
    with ended_by_signals(server), socket.socket() as listening:
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("127.0.0.1", port))
            guard.port = listening.getsockname()[1]
            server.run(sockets=[listening])
        finally:
            at_rest = session.close()
    return at_rest


@contextmanager
def ended_by_signals(server: Any) -> Iterator[None]:
    """End a server by every signal that asks for it and is not ignored."""

    def end(number: int, frame: object) -> None:
        server.should_exit = True

    known = [getattr(signal, name) for name in ENDING if hasattr(signal, name)]
    heard = [number for number in known if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
