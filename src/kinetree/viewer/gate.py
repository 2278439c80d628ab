"""Who may talk to the viewer: decided before a connection exists, so that no message of others is read.

The address of the page has a secret, which the first answer turns into a cookie; every further request, and
the connection that carries messages, must bring the one or the other. The name that was asked for must be one
of this machine, so that a foreign name that leads here (DNS rebinding) is refused, and the origin must be the
page itself. Messages are limited in size and number.
"""

from __future__ import annotations

import http
import logging
import secrets
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kinetree.viewer.address import is_local, may_connect

WORD = "token"
LARGEST_MESSAGE = 4 << 20  # bytes
MOST_MESSAGES, SPAN = 2000, 1.0  # so many messages in so many seconds
BROKEN_RULES = 1008  # code of a connection that is closed because it breaks the rules
_starting = threading.Lock()


class Gate:
    """The secret of one viewer, and what is checked with it."""

    def __init__(self, *, public: bool = False) -> None:
        self.token, self.public = secrets.token_urlsafe(24), public
        self._said: set[str] = set()  # reasons of refusals, each printed once

    def refusal(self, request: Any) -> str:
        """Why a request may not pass, or nothing."""
        headers = request.headers
        host = headers.get("Host")
        if not self.public and not is_local(urlsplit(f"//{host or ''}").hostname or ""):
            return "this viewer accepts only names of its own machine, such as localhost"
        if not may_connect(headers.get("Origin"), host, public=self.public):
            return "only the viewer's own page may connect"
        if not self._knows(request.path) and not self._kept(headers.get("Cookie"), host):
            return "the address lacks the viewer's token: open the full address that the viewer printed"
        return ""

    def cookie(self, host: str | None) -> str:
        """What the browser keeps: for this viewer, for no script, and for no other page's requests."""
        return f"{_name(host)}={self.token}; HttpOnly; SameSite=Strict; Path=/"

    def _knows(self, path: str) -> bool:
        given = parse_qs(urlsplit(path).query).get(WORD, [""])
        return secrets.compare_digest(given[0].encode(), self.token.encode())

    def _kept(self, text: str | None, host: str | None) -> bool:
        try:
            found = SimpleCookie(text or "").get(_name(host))
        except CookieError:
            return False
        return found is not None and secrets.compare_digest(found.value.encode(), self.token.encode())

    def around(self, process: Callable[..., Any] | None) -> Callable[..., Any]:
        """The function that sees requests before connections are made, after this gate's checks."""

        def checked(connection: Any, request: Any) -> Any:
            reason = self.refusal(request)
            if reason:
                if reason not in self._said:
                    self._said.add(reason)
                    print(f"viewer: a request was refused: {reason}", file=sys.stderr)
                return connection.respond(http.HTTPStatus.FORBIDDEN, f"{reason}\n")
            answer = process(connection, request) if process is not None else None
            if answer is not None and self._knows(request.path):
                answer.headers["Set-Cookie"] = self.cookie(request.headers.get("Host"))
                answer.headers["Referrer-Policy"] = "no-referrer"
            return answer

        return checked

    def limited(self, handler: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
        """The function that serves a connection, which ends where messages come too fast or make no sense."""
        from websockets.exceptions import ConnectionClosed

        async def served(connection: Any) -> None:
            receive, begun, count = connection.recv, time.monotonic(), 0

            async def recv(*arguments: Any, **more: Any) -> Any:
                nonlocal begun, count
                message = await receive(*arguments, **more)
                now = time.monotonic()
                if now - begun > SPAN:
                    begun, count = now, 0
                count += 1
                if count > MOST_MESSAGES:
                    await connection.close(BROKEN_RULES, "too many messages")
                    return await receive(*arguments, **more)  # raises: it is closed
                return message

            connection.recv = recv
            try:
                await handler(connection)
            except ConnectionClosed:
                raise
            except Exception as reason:  # of viser, for a message that it cannot read
                said = (
                    f"a message of a page cannot be read ({type(reason).__name__}); its connection is closed"
                )
                print(f"viewer: {said}", file=sys.stderr)
                await connection.close(BROKEN_RULES, "a message cannot be read")

        return served


def _name(host: str | None) -> str:
    """Cookies know no ports, so that the name has it."""
    return f"kinetree-{urlsplit(f'//{host}').port or 80}"


def _log() -> logging.Logger:
    """The log of connections, without the tracebacks of those that the gate refuses."""
    log = logging.getLogger("kinetree.viewer")
    log.addFilter(_is_no_refusal)
    return log


def _is_no_refusal(record: logging.LogRecord) -> bool:
    return "opening handshake failed" not in record.getMessage()


@contextmanager
def guarded(gate: Gate) -> Iterator[None]:
    """Servers that are started in here pass all requests through the gate."""
    import websockets.asyncio.server as sockets

    with _starting:
        plain = sockets.serve

        def serve(handler: Any, *places: Any, **options: Any) -> Any:
            options["process_request"] = gate.around(options.get("process_request"))
            options["max_size"] = LARGEST_MESSAGE
            options["logger"] = _log()
            return plain(gate.limited(handler), *places, **options)

        sockets.serve = serve  # type: ignore[assignment, misc]
        try:
            yield
        finally:
            sockets.serve = plain  # type: ignore[misc]
