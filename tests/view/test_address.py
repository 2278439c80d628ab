"""Where the viewer may be served, and who may talk to it."""

import socket
import sys
import time
import urllib.error
import urllib.request

import pytest

import kinetree as kt
from kinetree.viewer.address import check_address, is_local, may_connect, page_address
from kinetree.viewer.gate import LARGEST_MESSAGE
from kinetree.viewer.server import start_server, stop_server


@pytest.fixture
def busy():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.7.7", "10.0.0.1", "example.com", "8.8.8.8"])
def test_public_addresses_are_refused(host):
    with pytest.raises(kt.errors.InputError, match=r"other machines.*--public"):
        kt.view("gripper", host=host, port=0, open_browser=False, wait=False)


def test_a_public_address_can_be_asked_for():
    with pytest.raises(kt.errors.InputError, match="other machines"):
        check_address("0.0.0.0", 0)
    assert check_address("0.0.0.0", 0, public=True) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "localhost", "::1"])
def test_this_machine_is_local(host):
    assert is_local(host)


@pytest.mark.parametrize("host", ["", "127.0.0.1.example.com", "localhost.example.com", "0.0.0.0", "1.2.3.4"])
def test_others_are_not_local(host):
    assert not is_local(host)


def test_a_busy_port_is_named_with_what_to_do(busy):
    with pytest.raises(kt.errors.InputError, match=rf"port {busy} of 127.0.0.1 is in use.*--port"):
        kt.view("gripper", port=busy, open_browser=False, wait=False)


@pytest.mark.parametrize("port", [-1, 65536, 80.5, "8080", True, None])
def test_a_port_is_a_number(port):
    with pytest.raises(kt.errors.InputError, match="port must be an integer"):
        check_address("127.0.0.1", port)


@pytest.mark.parametrize("host", ["", 3, None])
def test_a_host_is_a_name(host):
    with pytest.raises(kt.errors.InputError, match="host"):
        check_address(host, 0)


def test_an_unknown_host_is_told():
    with pytest.raises(kt.errors.InputError, match=r"nowhere\.invalid"):
        check_address("nowhere.invalid", 0, public=True)


def test_without_viser_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(kt.errors.MissingExtraError, match=r"pip install .*\[view\]"):
        kt.view("gripper", port=0, open_browser=False, wait=False)


def test_what_cannot_be_shown_is_told_before_a_server_starts():
    with pytest.raises(kt.errors.InputError, match="can be shown"):
        kt.view(3.0, port=0, open_browser=False, wait=False)
    with pytest.raises(kt.errors.FileError, match=r"nowhere\.toml"):
        kt.view("nowhere.toml", port=0, open_browser=False, wait=False)
    with pytest.raises(kt.errors.InputError, match="Did you mean 'gripper'"):
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


def status_of(place, host=None, origin=None, cookie=None):
    """101 if a connection was made and spoken to, else the status of the refusal, before any message."""
    import viser
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    more = {name: text for name, text in (("Cookie", cookie), ("Host", host)) if text is not None}
    try:
        with connect(
            place,
            origin=origin,
            additional_headers=more,
            subprotocols=[f"viser-v{viser.__version__}"],
            max_size=None,
        ) as line:
            line.recv(timeout=20)
    except InvalidStatus as refusal:
        return refusal.response.status_code
    return 101


@pytest.fixture
def served():
    server, gate = start_server("127.0.0.1", 0)
    yield server, gate, page_address("127.0.0.1", server.get_port())
    stop_server(server)


def test_only_who_knows_the_token_connects(served, capfd):
    server, gate, own = served
    place, port = own.replace("http", "ws"), server.get_port()
    kept = f"kinetree-{port}={gate.token}"
    assert status_of(f"{place}/?token={gate.token}", origin=own) == 101
    assert status_of(place, origin=own, cookie=kept) == 101
    assert status_of(f"{place}/?token={gate.token}") == 101  # a program that was given the address
    assert status_of(place, origin=own) == 403
    assert status_of(place) == 403  # another user of this machine
    assert status_of(f"{place}/?token={gate.token[:-1]}", origin=own) == 403
    assert status_of(place, origin=own, cookie=f"kinetree-{port}=wrong") == 403
    assert status_of(place, origin="http://example.com", cookie=kept) == 403
    assert status_of(place, origin="null", cookie=kept) == 403
    from viser import _messages

    assert _messages.ShareUrlRequest not in server._websock_server._incoming_handlers
    assert capfd.readouterr().out == ""


def test_the_page_turns_its_token_into_a_cookie(served):
    server, gate, own = served
    with urllib.request.urlopen(f"{own}/?token={gate.token}") as answer:
        cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"kinetree-{server.get_port()}={gate.token};")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    for wrong in (own, f"{own}/?token=x", f"{own}/index.html"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(wrong)


def test_a_page_without_the_token_is_one_line_on_the_terminal(served, capfd):
    _, _, own = served
    for _ in range(2):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(own)
        assert status_of(own.replace("http", "ws"), origin=own) == 403
    time.sleep(0.2)  # connections end in another thread
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("viewer: a request was refused: the address lacks the viewer's token")


def test_names_of_other_machines_that_lead_here_are_refused(served):
    """DNS rebinding: the browser believes to speak to a foreign host."""
    _, gate, own = served
    asked = urllib.request.Request(f"{own}/?token={gate.token}", headers={"Host": "evil.example:80"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(asked)


def test_a_message_of_a_foreign_page_is_never_read(served):
    """The refusal comes in place of the handshake: what was sent along with it reaches nobody."""
    server, _, _ = served
    seen = []
    server._websock_server._incoming_handlers.clear()
    server._websock_server._handle_incoming_message = lambda *message: seen.append(message)
    port = server.get_port()
    request = (
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://example.com\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        "Sec-WebSocket-Version: 13\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(request.encode() + b"\x82\x85\0\0\0\0hello")  # and a message at once
        answer = line.recv(4096)
    assert answer.startswith(b"HTTP/1.1 403") and seen == []


def test_large_and_many_messages_close_the_connection(served, monkeypatch):
    import viser
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    _, gate, own = served
    place = f"{own.replace('http', 'ws')}/?token={gate.token}"
    with connect(place, subprotocols=[f"viser-v{viser.__version__}"], max_size=None) as line:
        with pytest.raises(ConnectionClosed) as end:
            line.send(bytes(LARGEST_MESSAGE + 1))
            while True:
                line.recv(timeout=20)
        assert end.value.rcvd.code == 1009
    monkeypatch.setattr("kinetree.viewer.gate.MOST_MESSAGES", 5)
    monkeypatch.setattr("viser.infra._messages.Message.deserialize", lambda raw: None)
    with connect(place, subprotocols=[f"viser-v{viser.__version__}"], max_size=None) as line:
        with pytest.raises(ConnectionClosed) as end:
            for _ in range(50):
                line.send(b"x")
            while True:
                line.recv(timeout=20)
        assert end.value.rcvd.code in (1008, 1011)


@pytest.mark.parametrize("message", [b"hello", b"", b"\x80", b"\x81\xa4type\xa7Nothing", bytes(1000)])
def test_messages_that_cannot_be_read_are_one_line(served, capfd, message):
    import viser
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    _, gate, own = served
    place = f"{own.replace('http', 'ws')}/?token={gate.token}"
    with connect(place, subprotocols=[f"viser-v{viser.__version__}"], max_size=None) as line:
        line.send(message)
        with pytest.raises(ConnectionClosed) as end:
            while True:
                line.recv(timeout=20)
    assert end.value.rcvd.code == 1008
    said = capfd.readouterr().err
    assert "Traceback" not in said and said.count("cannot be read") == 1
