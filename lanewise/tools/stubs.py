"""Writes the stubs by which editors know the operations: `python -m lanewise.tools.stubs`.

The functions of `simt` are made from the registry and those of `lang` wrapped, so neither a type checker nor an editor
sees them in the source.  The stubs say to both what `help()` says: signature and docstring.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType

from .. import dtypes, lang
from ..dtypes import DType
from ..simt.families import members
from ..simt.op import Function, Kind, Param

_NOTE = "# Made by `python -m lanewise.tools.stubs`; tests/test_editor.py checks that it is current."
_MODULES: Mapping[str, tuple[str, ...]] = {
    "collections.abc": ("Callable", "Iterable"),
    "typing": ("Any", "Literal", "TypeVar"),
    "..types": ("NDArray",),
    ".errors": ("LanewiseError",),
}

_TYPES: Mapping[Kind, str] = {
    Kind.PREDICATE: "Any",
    Kind.INDEX: "int",
    Kind.CONST: "int",
    Kind.BITS: "int",
    Kind.FUNC: "Callable[[Any, Any], Any]",
    Kind.SCOPE: 'Literal["all", "buffer", "shared"]',
}
_CHECKED = {"block_dim": "int | None", "dtype": "Any"}
_SHARED = "def SharedArray(shape: int | tuple[int, ...], dtype: Any) -> NDArray:"

# What values of these types would be to a checker.  Each operand of a call gets a type of its own, so that the types of
# the results tell which operand they come from.
_SAMPLES = (dtypes.f64, dtypes.i16)
_VARIABLES = ("_T", "_U")
_GROUPS = ("subgroup", "quad", "block", "grid")
_DOCS = {
    "subgroup": "Operations between the lanes of a subgroup (warp, wave), and within its aligned tiles.",
    "quad": "Operations between the four lanes of a quad.",
    "block": "Operations between the threads of a block.",
    "grid": "Operations between the blocks of a launch.",
}


def _stub(doc: str, body: str, variables: Sequence[str] = ()) -> str:
    """A whole file: with the imports and the type variables that the body needs."""
    declared = "".join(f'{name} = TypeVar("{name}")\n' for name in variables if re.search(rf"\b{name}\b", body))
    words = set(re.findall(r"\w+", "".join(re.findall(r"^def .*$", body, re.MULTILINE)) + declared))
    imports = "".join(
        f"from {module} import {', '.join(used)}\n"
        for module, names in _MODULES.items()
        if (used := [name for name in names if name in words])
    )
    return "\n".join(part for part in (f'{_NOTE}\n"""{doc}"""\n', imports, declared, body) if part)


# ---- simt ---------------------------------------------------------------------------------------------------------
def _variables(params: tuple[Param, ...]) -> dict[str, int]:
    """Of each value parameter, the number of its type variable; an identity has its value's type."""
    found: dict[str, int] = {}
    for param in params:
        if param.kind is Kind.VALUE:
            found[param.name] = 0 if param.name == "identity" else len(set(found.values()))
    return found


def _sampled(param: Param, variables: Mapping[str, int]) -> DType | None:
    """The type of a call's operand for this parameter, where it is an operand."""
    if param.kind is Kind.VALUE:
        wanted = _SAMPLES[variables[param.name]]
        return wanted if wanted in param.dtypes else dtypes.i16
    return {Kind.PREDICATE: dtypes.bool_, Kind.BITS: dtypes.u64}.get(param.kind)


def _python_type(dtype: DType) -> str:
    return "bool" if dtype.is_bool else "float" if dtype.is_float else "int"


def _result(function: Function, variables: Mapping[str, int]) -> str:
    sampled = {p.name: _sampled(p, variables) for p in function.params}
    operands = tuple(t for t in sampled.values() if t is not None)
    given = {sampled[name]: _VARIABLES[number] for name, number in reversed(list(variables.items()))}
    results = function.op.infer(operands, {"log2_size": 3, "dtype": dtypes.i32})
    names = [given.get(t) or _python_type(t) for t in results]
    if not names:
        return "None"
    return names[0] if len(names) == 1 else f"tuple[{', '.join(names)}]"


def _declared(param: Param, variables: Mapping[str, int]) -> str:
    type_ = _VARIABLES[variables[param.name]] if param.name in variables else _TYPES.get(param.kind, "")
    type_ = type_ or _CHECKED[param.name]
    return f"{param.name}: {type_}" + (f" = {param.default!r}" if param.optional else "")


def _head(function: Function) -> str:
    if function.name == "SharedArray":
        return _SHARED
    variables = _variables(function.params)
    params = ", ".join(_declared(p, variables) for p in function.params)
    head = f"def {function.name}({params}) -> {_result(function, variables)}:"
    for name in _VARIABLES:
        if head.count(name) == 1:  # it says nothing
            head = head.replace(name, "Any")
    return head


def _documented(head: str, doc: str) -> str:
    quotes = 'r"""' if "\\" in doc else '"""'
    lines = [part for line in doc.strip().splitlines() for part in textwrap.wrap(line, 112) or [""]]
    text = textwrap.indent(quotes + "\n".join(lines) + '"""', "    ").strip()
    return f"{head}\n    {text}\n"


def group_stub(group: str) -> str:
    """The stub of one module of `simt`."""
    functions = [members(group)[name] for name in sorted(members(group))]
    body = "\n".join(_documented(_head(f), f.doc) for f in functions)
    return _stub(_DOCS[group], body, _VARIABLES)


def simt_stub() -> str:
    """The stub of the package `simt`."""
    names = "".join(f"from . import {group} as {group}\n" for group in _GROUPS)
    clock = members("simt")["clock"]
    return _stub(_simt_doc(), names + "\n" + _documented(_head(clock), clock.doc))


def _simt_doc() -> str:
    from .. import simt

    return (simt.__doc__ or "").strip()


# ---- lang ---------------------------------------------------------------------------------------------------------
def _lang_functions() -> Iterator[tuple[str, FunctionType]]:
    for name, value in vars(lang).items():
        if isinstance(value, FunctionType) and value.__module__ == lang.__name__ and not name.startswith("_"):
            yield name, value


def lang_stub() -> str:
    """The stub of `lanewise.lang`."""
    body = "\n".join(
        _documented(f"def {name}{_signature_text(function)}:", inspect.getdoc(function) or "")
        for name, function in _lang_functions()
    )
    return _stub((lang.__doc__ or "").strip() + "\n", body, ("T",))


def _signature_text(function: FunctionType) -> str:
    signature = inspect.signature(function)
    params: list[str] = []
    keyword_only = False
    for p in signature.parameters.values():
        star = {inspect.Parameter.VAR_POSITIONAL: "*"}.get(p.kind, "")
        if p.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            params.append("*")
        default = "" if p.default is inspect.Parameter.empty else f" = {p.default!r}"
        params.append(f"{star}{p.name}: {p.annotation}{default}")
    return f"({', '.join(params)}) -> {signature.return_annotation}"


# ---- files --------------------------------------------------------------------------------------------------------
def stubs() -> dict[Path, str]:
    """Every stub, by its path in the package."""
    made = {Path("simt") / f"{group}.pyi": group_stub(group) for group in _GROUPS}
    return made | {Path("simt") / "__init__.pyi": simt_stub(), Path("lang.pyi"): lang_stub()}


def main() -> None:
    """Write them."""
    package = Path(__file__).parent.parent
    for path, text in stubs().items():
        (package / path).write_text(text, encoding="utf-8")
        print(f"lanewise/{path}")


if __name__ == "__main__":
    main()
