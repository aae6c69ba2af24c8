"""Serve a review to one browser on this machine, until Ctrl-C or another signal.

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
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from unseen._command import needs_extra
from unseen.review.session import Session

try:
    import uvicorn
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.responses import PlainTextResponse, RedirectResponse
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from unseen.review.app import make_app
except ImportError as error:
    name = error.name or "starlette"
    raise needs_extra(name, "review", "Reviewing labels") from None

__all__ = ["POLICY", "Guard", "serve"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
NO_STORE = {"Cache-Control": "no-store"}
LONGEST = 8 * 2**20  # bytes of a request
OPTIONS: dict[str, Any] = {
    "log_level": "warning",
    "access_log": False,
    "server_header": False,
    "lifespan": "off",
    "proxy_headers": False,
    "timeout_graceful_shutdown": 2,
}
ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


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
            await PlainTextResponse(*refusal, headers=HEADERS)(scope, receive, send)
            return
        if self.once is not None and same(scope["path"][1:], self.once):
            self.once = None
            there = RedirectResponse(f"/{self.token}/", 303, HEADERS | NO_STORE)
            await there(scope, receive, send)
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
            if not length.isdecimal() or len(length) > 9 or int(length) > LONGEST:
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
    server: Any = uvicorn.Server(uvicorn.Config(guard, **OPTIONS))
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
