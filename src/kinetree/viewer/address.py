"""Where the page is served: only this machine unless set otherwise, and only on a port that is free."""

from __future__ import annotations

import errno
import ipaddress
import socket
from urllib.parse import urlsplit

from kinetree.errors import InputError, must_be

LOCAL_NAME = "localhost"
LARGEST_PORT = 65535


def check_address(host: str, port: int, *, public: bool = False) -> None:
    """Raise unless the page may and can be served there; port 0 stands for any free one.

    >>> check_address("127.0.0.1", 0)
    >>> check_address("127.0.0.1", -1)
    Traceback (most recent call last):
    kinetree.errors.InputError: port must be an integer from 0 (any free one) to 65535, got -1
    """
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= LARGEST_PORT:
        raise InputError(must_be("port", f"an integer from 0 (any free one) to {LARGEST_PORT}", port))
    if not isinstance(host, str) or not host.strip():
        raise InputError(must_be("host", "an address such as 127.0.0.1", host))
    if not public and not is_local(host):
        raise InputError(
            f"host '{host}' can be reached from other machines, and whoever opens the page can run "
            "simulations on this one; use 127.0.0.1, or allow it with --public (public=True)"
        )
    _try_to_listen(host, port)


def is_local(host: str) -> bool:
    """Whether only this machine can reach the host.

    >>> is_local("127.0.0.1"), is_local("::1"), is_local("localhost"), is_local("192.168.1.2"), is_local("")
    (True, True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == LOCAL_NAME


def page_address(host: str, port: int) -> str:
    """What to type into the browser.

    >>> page_address("::1", 8080), page_address("0.0.0.0", 80)
    ('http://[::1]:8080', 'http://localhost:80')
    """
    shown = LOCAL_NAME if host in ("0.0.0.0", "::") else host
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def may_connect(origin: str | None, asked_host: str | None, *, public: bool) -> bool:
    """Whether a page from an origin may talk to the viewer: only the viewer's own page.

    A browser sends the origin of the page with every connection, so that a page from elsewhere that is open
    on this machine cannot reach the viewer; programs that are no browsers send none. ``asked_host`` is the
    host that the connection was made to.

    >>> may_connect("http://127.0.0.1:8080", "127.0.0.1:8080", public=False)
    True
    >>> may_connect("http://example.com", "127.0.0.1:8080", public=False)
    False
    """
    if origin is None:
        return True
    place = urlsplit(origin)
    same = place.netloc.lower() == (asked_host or "").lower()
    return same and (public or is_local(place.hostname or ""))


def _try_to_listen(host: str, port: int) -> None:
    """Raise with the reason if nothing can listen there."""
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InputError(f"host '{host}' is not a known address: {error.strerror or error}") from None
    with socket.socket(family, kind) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(place)
            trial.listen()
        except OSError as error:
            raise InputError(_refusal(host, port, error)) from None


def _refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is in use, perhaps by another viewer: end that one, or choose another "
            "port with --port (port=...), 0 for any free one"
        )
    if error.errno == errno.EACCES:
        return f"port {port} of {host} needs special permissions; choose one above 1023"
    return f"cannot listen on port {port} of host '{host}': {error.strerror or error}"
