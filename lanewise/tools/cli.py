"""The command line: `lanewise devices`, `lanewise source`, `lanewise cache`, `lanewise bench`, `lanewise demo`."""

from __future__ import annotations

import sys
from enum import Enum
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
        str, typer.Option(help="What to generate: ir, cpu (LLVM IR), asm, ptx, sass, amdgpu, vulkan (SPIR-V).")
    ] = "cpu",
    subgroup_size: Annotated[
        int | None, typer.Option(help="Lanes of a subgroup.", show_default="the target's own")
    ] = None,
    arch: Annotated[str | None, typer.Option(help="The architecture, where the target has several.")] = None,
    template: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="The value of a template() parameter; repeatable.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write to this file instead of printing; .spv: modules, and beside them their description."),
    ] = None,
) -> None:
    """Print the code generated for a kernel; no device is needed."""
    from .source import load_kernel, parse_templates

    kernel = load_kernel(place)
    templates = parse_templates(template or [])
    if out is None:
        text = kernel.source(target, subgroup_size=subgroup_size, arch=arch, **templates)
        print(text, end="" if text.endswith("\n") else "\n")
        return
    for name, data in kernel.files(out.name, target, subgroup_size=subgroup_size, arch=arch, **templates).items():
        (out.parent / name).write_bytes(data)


class _CacheAction(str, Enum):
    info = "info"
    clear = "clear"


@app.command()
def cache(
    action: Annotated[_CacheAction, typer.Argument(help="Describe the cache, or empty it.")] = _CacheAction.info,
) -> None:
    """Compiled kernels that are kept on disk: where, how many, how large; `clear` removes them."""
    from ..cache import cache_info, clear_cache

    if action is _CacheAction.clear:
        removed = clear_cache()
        print(f"removed {removed} compiled kernel{'' if removed == 1 else 's'}")
        return
    info = cache_info()
    if info.folder is None:
        print(
            "no compiled kernels are kept: LANEWISE_CACHE_DIR is empty, LANEWISE_CACHE_SIZE is 0, or there is no home"
        )
    else:
        print(f"folder   {info.folder}")
        print(f"entries  {info.entries}")
        print(f"size     {info.bytes / 1e6:.1f} MB of at most {info.limit / 1e6:.1f} MB")


@app.command()
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Benchmarks that begin so. [default: all]")
    ] = None,
    arch: Annotated[str, typer.Option(help="The device to run on.")] = "cpu",
    subgroup_size: Annotated[
        list[int] | None, typer.Option(help="Lanes of a subgroup; repeatable. [default: the device's own]")
    ] = None,
    size: Annotated[int, typer.Option(min=64, help="Elements.")] = 1 << 22,
    runs: Annotated[int, typer.Option(min=1, help="Timed runs of each.")] = 7,
    out: Annotated[Path | None, typer.Option(help="Draw the result to this PNG.")] = None,
) -> None:
    """Time kernels beside other ways to do the same work: NumPy, shared memory, atomics."""
    from .bench import run

    run(names or [], arch=arch, sizes=subgroup_size or [], size=size, runs=runs, out=out, console=Console())


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
