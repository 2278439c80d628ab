"""The help of a command: arguments and options by plain names, without the types of the program."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand

from kinetree.errors import OTHER_WORDS, InputError

ALONE = re.compile(r"^\{([^|{}]+)\}(\.\.\.)?$")  # braces around one name, where there is nothing to choose
Function = TypeVar("Function", bound=Callable[..., Any])
TYPE = re.compile(r" <\S+( \S+)?>$")


class PlainCommand(TyperCommand):
    """A command whose help says ``STUDY``, not ``{STUDY}`` and ``STUDY <str>``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words behind the command; options under names of others lead to ours."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # its class is Typer's own or Click's
            asked = str(getattr(error, "option_name", ""))
            known = {option for x in self.get_params(ctx) for option in x.opts}
            for word in OTHER_WORDS.get(asked.lstrip("-"), ()):
                if f"--{word}" in known:
                    raise InputError(f"unknown option '{asked}'. Did you mean '--{word}'?") from None
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What stands behind the name of the command in its usage."""
        return [ALONE.sub(r"\1\2", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments, then the options."""
        for heading, kind in (("Arguments", "argument"), ("Options", "option")):
            records = (x.get_help_record(ctx) for x in self.get_params(ctx) if x.param_type_name == kind)
            rows = [(TYPE.sub("", name), about) for name, about in filter(None, records)]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


class PlainTyper(typer.Typer):
    """Commands of this kind, added as to any other."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Function], Function]:
        """The decorator of a function that becomes a command."""
        return super().command(name, **{"cls": PlainCommand, **options})
