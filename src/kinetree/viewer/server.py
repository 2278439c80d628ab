"""The server of the page (viser): started quietly, on the port that was asked for, for its own page only."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from kinetree.errors import InputError, MissingExtraError
from kinetree.report.palette import MODULE_COLORS
from kinetree.viewer.address import check_address
from kinetree.viewer.gate import Gate, guarded
from kinetree.viewer.stage import rgb

TITLE = "Kinetree"


def start_server(host: str, port: int, *, public: bool = False) -> tuple[Any, Gate]:
    """A viser server that listens on the host and port, and the gate that all requests pass."""
    check_address(host, port, public=public)
    gate = Gate(public=public)
    try:
        import viser
    except ImportError:
        raise MissingExtraError("viser", "view", "the live viewer") from None
    with redirect_stdout(StringIO()), guarded(gate):  # it prints where it listens, as the viewer does
        server = viser.ViserServer(host, port, label=TITLE, verbose=False)
    if port not in (0, server.get_port()):
        stop_server(server)
        raise InputError(f"another program has just taken port {port} of {host}; choose another port")
    _keep_to_itself(server)
    server.gui.configure_theme(
        control_width="large", show_logo=False, show_share_button=False, brand_color=rgb(MODULE_COLORS[1])
    )
    _light(server.scene)
    return server, gate


def stop_server(server: Any) -> None:
    """End it and all connections."""
    with redirect_stdout(StringIO()):
        server.stop()


def _light(scene: Any) -> None:
    """Light from all sides without pictures of surroundings, which take long where there is no GPU."""
    scene.configure_environment_map(None)
    scene.add_light_ambient("/light/ambient", color=(255, 255, 255), intensity=0.9)
    scene.add_light_hemisphere(
        "/light/sky", sky_color=(255, 255, 255), ground_color=(190, 190, 190), intensity=1.4
    )


def _keep_to_itself(server: Any) -> None:
    """Turn away requests to publish the page through a tunnel."""
    from viser import _messages

    for request in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(request)
