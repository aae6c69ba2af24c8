"""Who may ask: the browser that was told the address, and no page of another site.

    Host             is 127.0.0.1:port or localhost:port: no other name leads here
    first part of    is the token: only who was told the address knows it
      the path
    Origin, if told, is our own; every POST must tell it, and bring JSON

Every answer forbids the page to talk to anyone else or to be framed by anyone.
"""

from __future__ import annotations

import hmac
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["POLICY", "Guard"]

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
LONGEST = 8 * 2**20  # bytes of a request


class Guard:
    """Lets requests through to an app below the token, or refuses them."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        refusal = self._why_not(scope)
        if refusal:
            await PlainTextResponse(*refusal, headers=HEADERS)(scope, receive, send)
            return
        root = f"/{self.token}"
        inner: dict[str, Any] = dict(scope)
        inner["path"] = scope["path"][len(root) :] or "/"
        inner["root_path"] = ""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(inner, receive, send_guarded)

    def _why_not(self, scope: Scope) -> tuple[str, int] | None:
        headers = Headers(scope=scope)
        if headers.get("host", "") not in self.hosts:
            return "This address is not ours.", 421
        token = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
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
            if not length.isdecimal() or int(length) > LONGEST:
                return "That is too much at once.", 413
        elif site not in ("same-origin", "none"):
            page = scope["path"].rstrip("/") == f"/{self.token}"
            if not page or headers.get("sec-fetch-mode") != "navigate":
                return "Another site may not ask.", 403
        return None
