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
ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


class Guard:
    """Lets requests through to an app below the token, or refuses them."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app, self.token = app, secrets.token_urlsafe(24)
        self.once: str | None = secrets.token_urlsafe(24)
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        if self._is_first(scope):
            self.once = None
            there = RedirectResponse(f"/{self.token}/", 303, HEADERS | NO_STORE)
            await there(scope, receive, send)
            return
        refusal = self._why_not(scope)
        if refusal:
            await PlainTextResponse(*refusal, headers=HEADERS)(scope, receive, send)
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

    def _is_first(self, scope: Scope) -> bool:
        """Tell whether this is the link that the browser was started with."""
        known = Headers(scope=scope).get("host", "") in self.hosts
        return known and self.once is not None and same(scope["path"][1:], self.once)

    def _why_not(self, scope: Scope) -> tuple[str, int] | None:
        headers = Headers(scope=scope)
        if headers.get("host", "") not in self.hosts:
            return "This address is not ours.", 421
        token = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        if not same(token, self.token):
            return "Open the address that unseen review printed.", 403
        origin = headers.get("origin")
        own = {f"http://{host}" for host in self.hosts}
        site = headers.get("sec-fetch-site", "same-origin")
        if origin is not None and origin not in own:
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
            page = scope["path"].rstrip("/") == f"/{self.token}"
            if not page or headers.get("sec-fetch-mode") != "navigate":
                return "Another site may not ask.", 403
        return None


def same(one: str, other: str) -> bool:
    """Compare secrets in a time that tells nothing of them."""
    return hmac.compare_digest(one.encode(), other.encode())


def serve(
    session: Session, *, port: int = 0, ready: Callable[[str, str], None]
) -> bool:
    """Serve a review until it is interrupted; then close it.

    Parameters
    ----------
    session : Session
    port : int, default=0
        0 for any that is free.
    ready : callable
        Called with the address, and a link that leads there once, as soon as the page
        can be opened.

    Returns
    -------
    bool
        Whether the model is at rest, too; see :meth:`Session.close`.
    """
    server: Any = None

    def end(number: int, frame: object) -> None:
        if server is not None:
            server.should_exit = True

    with handling(end), socket.socket() as listening:
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("127.0.0.1", port))
            port = listening.getsockname()[1]
            guard = Guard(make_app(session), port)
            config = uvicorn.Config(
                guard,
                log_level="warning",
                access_log=False,
                server_header=False,
                lifespan="off",
                proxy_headers=False,
                timeout_graceful_shutdown=2,
            )
            server = uvicorn.Server(config)
            server.capture_signals = nullcontext  # its own would end us before we close
            startup = server.startup

            async def start_and_tell(sockets: Any = None) -> None:
                await startup(sockets=sockets)
                root = f"http://127.0.0.1:{port}"
                ready(f"{root}/{guard.token}/", f"{root}/{guard.once}")

            server.startup = start_and_tell
            server.run(sockets=[listening])
        finally:
            at_rest = session.close()
    return at_rest


@contextmanager
def handling(end: Callable[[int, object], None]) -> Iterator[None]:
    """Call a function on every signal that asks to end, if it is not ignored."""
    known = [getattr(signal, name) for name in ENDING if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in known}
    heard = [number for number in known if before[number] != signal.SIG_IGN]
    for number in heard:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])
