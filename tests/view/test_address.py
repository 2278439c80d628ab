"""Where the viewer may be served, and who may talk to it."""

import socket
import sys

import pytest

import kinetree as kt
from kinetree.viewer.address import check_address, is_local, may_connect, page_address
from kinetree.viewer.server import start_server, stop_server


@pytest.fixture
def busy():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.7.7", "10.0.0.1", "example.com", "8.8.8.8"])
def test_public_addresses_are_refused(host):
    with pytest.raises(kt.InputError, match=r"other machines.*--public"):
        kt.view("gripper", host=host, port=0, open_browser=False, wait=False)


def test_a_public_address_can_be_asked_for():
    with pytest.raises(kt.InputError, match="other machines"):
        check_address("0.0.0.0", 0)
    assert check_address("0.0.0.0", 0, public=True) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "localhost", "::1"])
def test_this_machine_is_local(host):
    assert is_local(host)


@pytest.mark.parametrize("host", ["", "127.0.0.1.example.com", "localhost.example.com", "0.0.0.0", "1.2.3.4"])
def test_others_are_not_local(host):
    assert not is_local(host)


def test_a_busy_port_is_named_with_what_to_do(busy):
    with pytest.raises(kt.InputError, match=rf"port {busy} of 127.0.0.1 is in use.*--port"):
        kt.view("gripper", port=busy, open_browser=False, wait=False)


@pytest.mark.parametrize("port", [-1, 65536, 80.5, "8080", True, None])
def test_a_port_is_a_number(port):
    with pytest.raises(kt.InputError, match="port must be a whole number"):
        check_address("127.0.0.1", port)


@pytest.mark.parametrize("host", ["", 3, None])
def test_a_host_is_a_name(host):
    with pytest.raises(kt.InputError, match="host"):
        check_address(host, 0)


def test_an_unknown_host_is_told():
    with pytest.raises(kt.InputError, match=r"nowhere\.invalid"):
        check_address("nowhere.invalid", 0, public=True)


def test_without_viser_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(kt.MissingExtraError, match=r"kinetree\[view\]"):
        kt.view("gripper", port=0, open_browser=False, wait=False)


def test_what_cannot_be_shown_is_told_before_a_server_starts():
    with pytest.raises(kt.InputError, match="can be shown"):
        kt.view(3.0, port=0, open_browser=False, wait=False)
    with pytest.raises(kt.FileError, match=r"nowhere\.toml"):
        kt.view("nowhere.toml", port=0, open_browser=False, wait=False)
    with pytest.raises(kt.InputError, match="Did you mean 'gripper'"):
        kt.view("griper", port=0, open_browser=False, wait=False)


@pytest.mark.parametrize(
    ("origin", "host", "public", "welcome"),
    [
        (None, "127.0.0.1:80", False, True),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", False, True),
        ("http://localhost:8080", "localhost:8080", False, True),
        ("http://127.0.0.1:8081", "127.0.0.1:8080", False, False),
        ("http://example.com", "127.0.0.1:8080", False, False),
        ("null", "127.0.0.1:8080", False, False),
        ("http://example.com:8080", "example.com:8080", False, False),
        ("http://robot.lan:8080", "robot.lan:8080", True, True),
        ("http://example.com", "robot.lan:8080", True, False),
    ],
)
def test_only_the_own_page_may_connect(origin, host, public, welcome):
    assert may_connect(origin, host, public=public) is welcome


def closed_with(server, origin):
    """The code that a connection from an origin is closed with, or None if it is kept and spoken to."""
    import viser
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    place = page_address("127.0.0.1", server.get_port()).replace("http", "ws")
    with connect(place, origin=origin, subprotocols=[f"viser-v{viser.__version__}"], max_size=None) as line:
        try:
            line.recv(timeout=5)
        except ConnectionClosed as end:
            return end.rcvd.code
    return None


def test_the_server_turns_other_pages_away_and_cannot_be_published(capfd):
    server = start_server("127.0.0.1", 0)
    try:
        own = page_address("127.0.0.1", server.get_port())
        assert closed_with(server, own) is None
        assert closed_with(server, None) is None
        assert closed_with(server, "http://example.com") == 1008
        from viser import _messages

        assert _messages.ShareUrlRequest not in server._websock_server._incoming_handlers
    finally:
        stop_server(server)
    assert capfd.readouterr().out == ""
