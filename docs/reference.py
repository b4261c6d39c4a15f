"""Writes the reference pages: the operations from their registry, the rest from signatures and docstrings.

The pages go to `docs/reference/`, which Sphinx reads and git does not know.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import families
import pictures

import lanewise as lw
from lanewise import algorithms, lang
from lanewise.backends.engine import Properties
from lanewise.simt.op import Function, Kind

FOLDER = Path(__file__).parent / "reference"


# ---- text ---------------------------------------------------------------------------------------------------------
def markdown(doc: str) -> str:
    """A docstring as Markdown: what is between backticks stays, everything else is literal."""
    parts = re.split(r"(`[^`]*`)", doc)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<>\[\]|$\\~#])", r"\\\1", part) for part in parts)


def documented(doc: str) -> str:
    """The paragraphs; an opening one that is a formula is set as such."""
    first, _, rest = doc.strip().partition("\n\n")
    is_formula = re.match(r"\w+(\[\w+\])? = ", first) is not None
    opening = f"```text\n{first}\n```" if is_formula else markdown(first)
    return f"{opening}\n\n{markdown(rest)}\n" if rest else f"{opening}\n"


def described(name: str, signature: str, doc: str, *, kind: str = "function") -> str:
    """A directive that defines a name, so that it is in the index and can be linked to."""
    return f"`````{{py:{kind}}} {name}{signature}\n{documented(doc)}`````\n"


# ---- operations ---------------------------------------------------------------------------------------------------
def accepted(function: Function) -> str:
    """What the operands may be, from the registry."""
    sentences: list[str] = []
    for param in function.params:
        if param.kind is Kind.VALUE and param.name != "identity":
            kinds = " ".join(f"`{dtype}`" for dtype in param.dtypes)
            bundles = ", and vectors and structs of them" if function.op.fieldwise else ""
            sentences.append(f"`{param.name}`: {kinds}{bundles}.")
    if function.op.min_subgroup_size > 1:
        sentences.append(f"A subgroup has at least {function.op.min_subgroup_size} lanes.")
    return "  ".join(sentences)


def operation(function: Function, drawn: set[str]) -> str:
    module = "lanewise.simt" if function.op.group == "simt" else f"lanewise.simt.{function.op.group}"
    picture = ""
    if function.qualified_name in drawn:
        picture = f"\n```{{image}} pictures/{function.qualified_name}.svg\n:alt: {function.qualified_name}\n```\n"
    body = f"{function.doc}"
    text = described(f"{module}.{function.name}", str(function.__signature__), body)
    extra = accepted(function)
    inner = f"\n{extra}\n{picture}" if extra else picture
    return text.removesuffix("`````\n") + f"{inner}`````\n"


def operations_page(drawn: set[str]) -> str:
    parts = [_OPERATIONS_HEAD]
    for family in families.FAMILIES:
        parts.append(f"## {family.title}\n")
        parts += [operation(function, drawn) for function in family.functions()]
    parts.append("## Old names\n")
    parts += [f"- `{f.qualified_name}` is now `{f.op.group}.{f.forwards_to}`" for f in families.old_names()]
    return "\n".join(parts) + "\n"


_OPERATIONS_HEAD = f"""# Operations

```python
from lanewise.simt import block, grid, quad, subgroup
```

Every operation acts on the active lanes.  The pictures were made by running each call on {pictures.W} lanes: first with
all of them active, then without lanes {", ".join(map(str, pictures.INACTIVE))}.  A lane whose result is not defined is
empty.  Bits are written with lane 0 at the right end.
"""


# ---- the language -------------------------------------------------------------------------------------------------
def language_page() -> str:
    parts = ["# Functions of the kernel language\n", markdown(inspect.getdoc(lang) or "") + "\n"]
    for name, function in vars(lang).items():
        if isinstance(function, FunctionType) and name in lw.__all__:
            parts.append(described(f"lanewise.{name}", _signature(function), inspect.getdoc(function) or ""))
    return "\n".join(parts)


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


# ---- the host's side ----------------------------------------------------------------------------------------------
HOST: Sequence[tuple[str, Sequence[str]]] = (
    ("Kernels", ("kernel", "func", "Kernel")),
    ("Types", ("dataclass", "vector", "template")),
    ("Devices", ("init", "devices", "current_device", "use", "sync", "reset", "targets", "Device", "Arch")),
    ("Arrays", ("ndarray", "field", "from_numpy", "from_dlpack")),
    ("Whole arrays", tuple(f"algorithms.{name}" for name in algorithms.__all__)),
    ("Time", ("profile", "Profile")),
    ("The cache", ("cache_info", "clear_cache", "CacheInfo")),
    (
        "Errors",
        (
            "LanewiseError",
            "CompileError",
            "LanewiseTypeError",
            "LanewiseSyntaxError",
            "DeviceError",
            "KernelAssertionError",
        ),
    ),
)


def _members(cls: type) -> Iterator[str]:
    """The public methods and properties that have a docstring of their own."""
    for name, value in vars(cls).items():
        if name.startswith("_") and name != "__call__":
            continue
        if isinstance(value, property) or hasattr(value, "func"):  # cached ones too
            yield described(name, "", inspect.getdoc(value) or "", kind="attribute")
        elif isinstance(value, FunctionType):
            signature = re.sub(r"^\(self(, )?", "(", _signature(value))
            yield described(name, signature, inspect.getdoc(value) or "", kind="method")


def _host(name: str) -> str:
    value = getattr(algorithms if "." in name else lw, name.rpartition(".")[2])
    doc = inspect.getdoc(value) or ""
    if not isinstance(value, type):
        return described(f"lanewise.{name}", _signature(value), doc)
    kind = "exception" if issubclass(value, Exception) else "class"
    signature = "" if kind == "exception" or name in ("Kernel", "Device", "Arch", "Profile") else _signature(value)
    members = "" if kind == "exception" or name == "Arch" else "\n".join(_members(value))
    return f"``````{{py:{kind}}} lanewise.{name}{signature}\n{documented(doc)}\n{members}``````\n"


def host_page() -> str:
    parts = ["# On the host\n"]
    for title, names in HOST:
        parts.append(f"## {title}\n")
        parts += [_host(name) for name in names]
    properties = [f"- `{name}`" for name in inspect.signature(Properties).parameters]
    parts += ["## Properties of a device\n", "\n".join(properties) + "\n"]
    return "\n".join(parts)


def write() -> None:
    """Every page and picture."""
    drawn = set(pictures.draw_all(FOLDER / "pictures"))
    pages = {"operations": operations_page(drawn), "language": language_page(), "host": host_page()}
    for name, text in pages.items():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
