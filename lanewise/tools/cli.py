"""The command line: `lanewise devices`, `lanewise source`, `lanewise demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from .. import __version__
from ..errors import LanewiseError


class _Commands(TyperGroup):
    """Prints a LanewiseError as it draws itself, without a traceback, and exits with 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except LanewiseError as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            raise typer.Exit(1) from None


app = typer.Typer(
    name="lanewise",
    cls=_Commands,
    help="GPU subgroup kernels in Python, on every device and on the CPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"lanewise {__version__}")
        raise typer.Exit


@app.callback()
def main(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """GPU subgroup kernels in Python, on every device and on the CPU."""


@app.command()
def devices(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List every device with its subgroup sizes, its limits and what it supports."""
    from ..device import every_device
    from .devices import to_json, to_table

    found = every_device()
    if as_json:
        print(to_json(found))
    else:
        Console().print(to_table(found))


@app.command()
def source(
    place: Annotated[str, typer.Argument(metavar="FILE:KERNEL", help="A Python file and a kernel in it.")],
    target: Annotated[
        str, typer.Option(help="What to generate: ir, cpu (LLVM IR), asm, ptx, sass, amdgpu, spirv.")
    ] = "cpu",
    subgroup_size: Annotated[
        int | None, typer.Option(help="Lanes of a subgroup.", show_default="the target's own")
    ] = None,
    arch: Annotated[str | None, typer.Option(help="The architecture, where the target has several.")] = None,
    template: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="The value of a template() parameter; repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of printing.")] = None,
) -> None:
    """Print the code generated for a kernel; no device is needed."""
    from .source import load_kernel, parse_templates

    kernel = load_kernel(place)
    text = kernel.source(target, subgroup_size=subgroup_size, arch=arch, **parse_templates(template or []))
    if out is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        out.write_text(text, encoding="utf-8")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The PNG to write.")] = Path("lanewise-demo.png"),
    subgroup_size: Annotated[
        list[int] | None, typer.Option(help="Lanes of a subgroup, 8 to 64; repeatable. [default: 8, 32 and 64]")
    ] = None,
    arch: Annotated[str, typer.Option(help="The device to run on.")] = "cpu",
    repeat: Annotated[int, typer.Option(min=1, help="How often to repeat the map in each direction for timing.")] = 6,
    runs: Annotated[int, typer.Option(min=1, help="Timed runs of each kernel.")] = 7,
) -> None:
    """Survey a real map of elevations with six kernels, check and time them, and draw the result."""
    from .demo import run

    if not run(arch=arch, sizes=subgroup_size or [8, 32, 64], repeat=repeat, runs=runs, out=out, console=Console()):
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
