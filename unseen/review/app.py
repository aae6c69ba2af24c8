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

import hmac
import json
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any

from unseen._command import needs_extra
from unseen.files import named
from unseen.review.journal import is_number, is_word
from unseen.review.session import Session

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
KINDS = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}
SIDES = {"small": 240, "large": 1600}  # pixels of the longer side of a photo
Body = dict[str, Any]


def make_app(session: Session) -> Starlette:
    """Return the app of a review, which answers anybody: see :class:`Guard`."""
    folder = files("unseen.review").joinpath("static")
    static = {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}

    def file(request: Request) -> Response:
        name = request.path_params.get("name", "page.html")
        if name not in static:
            return PlainTextResponse("There is no such file.", 404)
        return Response(static[name], media_type=KINDS.get(name.rpartition(".")[2]))

    def index(request: Request) -> Response:
        asked = request.query_params
        found = session.index(
            order=asked.get("order", "doubt"),
            label=asked.get("label"),
            **{name: float(asked[name]) for name in ("least", "most") if name in asked},
            **{name: name in asked for name in ("changed", "mine", "not_mine")},
        )
        return as_json({"parts": found})

    def items(request: Request) -> Response:
        rows = request.query_params.get("rows", "").split(",")
        if len(rows) > 500:
            raise ValueError("rows are not a list of at most 500 numbers.")
        return as_json({"items": session.details([row_of(text) for text in rows])})

    def picture(request: Request) -> Response:
        side = SIDES.get(request.path_params["size"])
        found = side and session.items.picture(row_of(request.path_params["row"]), side)
        if not found:
            return PlainTextResponse("This cannot be shown.", 404)
        kind = "image/png" if found.startswith(b"\x89PNG") else "image/jpeg"
        keep = {"Cache-Control": "private, max-age=86400"}
        return Response(found, media_type=kind, headers=keep)

    def text(request: Request) -> Response:
        whole = session.items.texts[row_of(request.path_params["row"])]
        return as_json({"text": whole[:20_000]})  # as much of it as anyone reads

    def row_of(number: str) -> int:
        last = len(session.ids) - 1
        if not number.isdecimal() or len(number) > 12 or int(number) > last:
            raise ValueError(f"{number[:20]!r} is not a row from 0 to {last}.")
        return int(number)

    gets = {
        "": file,
        "static/{name}": file,
        "api/state": lambda request: as_json(session.summary()),
        "api/index": index,
        "api/items": items,
        "api/text/{row}": text,
        "api/{size}/{row}": picture,
    }
    posts: dict[str, Callable[[Body], Body]] = {
        "answers": lambda b: {"seq": session.record(b["entries"], b["tab"])},
        "undo": lambda b: {"undone": session.undo(b["tab"], b["uid"])},
        "suggest": lambda b: {"rows": session.suggest(b["n"])},
        "check": lambda b: {
            "rows": session.check(b["n"], b["uid"], b["tab"], b["wanted"])
        },
        "teach": lambda b: {"learning": session.teach(b["uid"], b["tab"])},
        "carry": lambda b: {"carried": session.carry_over(b["tab"])},
    }
    routes = [Route(f"/{path}", work) for path, work in gets.items()]
    routes += [
        Route(f"/api/{name}", post_route(work), methods=["POST"])
        for name, work in posts.items()
    ]
    handlers = dict.fromkeys((ValueError, RecursionError, OSError), refused)
    return Starlette(routes=routes, exception_handlers=handlers)


def are_answers(given: Any) -> bool:
    """Tell whether something may be answers of people, which learn and draw nothing."""
    return isinstance(given, list) and all(
        isinstance(one, dict) and one.get("op") not in ("teach", "check")
        for one in given
    )


# What a POST may say: what it is without that, whether it is sound, and what it is.
SAID: dict[str, tuple[Any, Callable[[Any], bool], str]] = {
    "tab": ("", is_word, "text of at most 64 letters"),
    "uid": ("", is_word, "text of at most 64 letters"),
    "n": (10, lambda n: is_number(n, 1, 1_000), "number from 1 to 1000"),
    "wanted": (95, lambda n: is_number(n, 50, 99), "number from 50 to 99"),
    "entries": ([], are_answers, "list of answers"),
}


def post_route(
    work: Callable[[Body], Body],
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that reads JSON, works on a thread, and answers in JSON."""

    async def handler(request: Request) -> Response:
        body = json.loads(await request.body())
        if not isinstance(body, dict):
            raise ValueError("This is not a JSON object.")
        said = {}
        for name, (default, sound, wanted) in SAID.items():
            said[name] = body.get(name, default)
            if not sound(said[name]):
                raise ValueError(f"{name} is no {wanted}.")
        return as_json(await run_in_threadpool(work, said))

    return handler


def refused(request: Request, error: Any) -> Response:
    """Answer with the reason why something was not done, or not saved."""
    if isinstance(error, OSError):  # such as a full disk
        return as_json({"reason": f"It is not saved: {error.strerror or error}."}, 507)
    return as_json({"reason": str(error)}, 400)


def as_json(content: Body, status: int = 200) -> Response:
    """Answer in JSON of plain ASCII, which holds stray bytes of names as well."""
    return Response(json.dumps(content), status, media_type="application/json")


class Guard:
    """Lets requests through to an app below the token, or refuses them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.port, self.token = app, 0, secrets.token_urlsafe(24)
        self.once: str | None = secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        answer: ASGIApp | None = self._instead(scope)
        if answer is None:
            inner = scope["path"][len(self.token) + 1 :] or "/"
            answer, scope = self.app, {**scope, "path": inner, "root_path": ""}

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await answer(scope, receive, send_guarded)

    def _instead(self, scope: Scope) -> Response | None:
        """Return what is answered to a request that is not let through."""
        headers, path = Headers(scope=scope), scope["path"].strip("/")
        hosts = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        stranger = PlainTextResponse("Another site may not ask.", 403)
        if headers.get("host", "") not in hosts:
            return PlainTextResponse("This address is not ours.", 421)
        if self.once is not None and same(path, self.once):
            self.once = None
            return RedirectResponse(f"/{self.token}/", 303)
        if not same(path.split("/")[0], self.token):
            refusal = "Open the address that unseen review printed."
            return PlainTextResponse(refusal, 403)
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "same-origin")
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            return stranger
        if scope["method"] in ("GET", "HEAD"):
            opens = path == self.token and headers.get("sec-fetch-mode") == "navigate"
            return None if opens or site in ("same-origin", "none") else stranger
        if origin is None or site != "same-origin":
            return stranger
        if not headers.get("content-type", "").startswith("application/json"):
            return PlainTextResponse("Send JSON.", 415)
        length = headers.get("content-length", "")  # at most 8 MB
        if not length.isdecimal() or len(length) > 7 or int(length) > 8_000_000:
            return PlainTextResponse("That is too much at once.", 413)
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
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # what asks a program to end
    ends = [getattr(signal, name) for name in names if hasattr(signal, name)]
    server.capture_signals = nullcontext  # its own would end us before we close
    before = {
        number: signal.signal(number, lambda *_: setattr(server, "should_exit", True))
        for number in ends
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        with socket.socket() as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with named(Path(f"port {port}")):
                listening.bind(("127.0.0.1", port))
            listening.listen()  # who asks now waits a moment
            guard.port = listening.getsockname()[1]
            root = f"http://127.0.0.1:{guard.port}"
            ready(f"{root}/{guard.token}/", f"{root}/{guard.once}")
            server.run(sockets=[listening])
    finally:
        at_rest = session.close()
        for number, handler in before.items():
            signal.signal(number, handler)
    return at_rest
