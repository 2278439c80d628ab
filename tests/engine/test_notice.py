"""The line that tells of a compilation: on a terminal, while it lasts, and only if there is one."""

import io
import sys

from numba import types

from kinetree.engine import disk_cache, machine_code, notice
from kinetree.engine.notice import Notice, hushed


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_terminal(monkeypatch):
    """Called in the test itself: pytest sets the stream anew after fixtures."""
    monkeypatch.delenv("KINETREE_NOTICE", raising=False)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_notice_comes_and_goes(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with Notice("rates") as line:
        assert terminal.getvalue() == ""
        line.show()
        line.show()
        assert terminal.getvalue() == "compiling rates (once) ..."
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_nothing_is_shown_elsewhere(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with hushed(), Notice("rates") as line:
        line.show()
    assert terminal.getvalue() == ""


def test_notebooks_and_pipes_are_told_once(monkeypatch):
    monkeypatch.delenv("KINETREE_NOTICE", raising=False)
    monkeypatch.setattr(notice, "_announced", [])
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    for name in ("rates", "rates", "more"):
        with Notice(name) as line:
            line.show()
    assert sys.stderr.getvalue() == notice.ONCE
    monkeypatch.setattr(notice, "_announced", [])
    monkeypatch.setenv("KINETREE_NOTICE", "0")
    with Notice("rates") as line:
        line.show()
    assert sys.stderr.getvalue() == notice.ONCE


def test_only_a_real_compilation_is_told(monkeypatch, tmp_path):
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(disk_cache, "cache_folder", lambda: tmp_path)

    def double(x):
        return 2.0 * x

    assert machine_code.compiled_function(double, [types.float64], "double")(3.0) == 6.0
    assert "compiling double (once)" in terminal.getvalue()
    terminal.truncate(0)
    terminal.seek(0)
    assert machine_code.compiled_function(double, [types.float64], "double")(3.0) == 6.0  # from the disk
    assert terminal.getvalue() == ""
