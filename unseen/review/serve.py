"""Serve a review to this machine alone, until Ctrl-C."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from typing import Any

from unseen._command import needs_extra
from unseen.review.session import Session

__all__ = ["serve"]


def serve(
    session: Session, *, port: int = 0, ready: Callable[[str], None] = print
) -> None:
    """Serve a review until it is interrupted.

    Parameters
    ----------
    session : Session
        Closed at the end.
    port : int, default=0
        0 for any that is free.
    ready : callable
        Called with the address once the page can be opened.
    """
    try:
        import uvicorn

        from unseen.review.app import make_app
    except ImportError as error:
        name = error.name or "starlette"
        raise needs_extra(name, "review", "Reviewing labels") from None
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        config = uvicorn.Config(
            make_app(session, token, port),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
        server: Any = uvicorn.Server(config)
        startup = server.startup

        async def tell(sockets: Any = None) -> None:
            await startup(sockets=sockets)
            ready(f"http://127.0.0.1:{port}/{token}/")

        server.startup = tell
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:  # uvicorn raises it again after it has ended
            pass
        finally:
            session.close()
