"""numba's forty lines about a mistake in the source as two: file and line, and the cause in plain words. Used by `base/compiler.py`.

    begin()                                     # a compilation
    note(error)                                 # at every call in it that fails, innermost first
    raise UserError(explained(error, function))

On its way out through the functions that call one another, an error keeps its cause but may lose its place; hence `note`. Some errors
have no place at all (a missing field is a bare KeyError, an unknown attribute of a module a bare AttributeError): only numba's own
frames in the traceback have the instruction that it was compiling.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from pathlib import Path

import numba
from numba.core.bytecode import ByteCodeInst
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.core.ir import Loc

from base.errors import nearest

_PLACE = re.compile(r'File "(?P<file>[^"<]+)", line (?P<line>\d+)|Raised from (?P<raiser>.+) \((?P<at>\d+)\)')
_NOISE = re.compile(
    r"Failed in|During:|File |\^|There (is|are) |Overload |Enable |Rejected |All templates|raised from|>>>|Unsupported functionality"
)
_NUMBA, _HERE = Path(numba.__file__).parent.resolve(), Path(__file__).parent
_PLAIN_WORDS = [
    (r"Literal\[str\]\((.*?)\)", r"'\1'"),
    (r"Literal\[\w+\]\((.*?)\)", r"\1"),
    (r"unicode_type", "text"),
    (
        r"Cannot bind .* to signature '(.*)' due to \"TypeError: (.*)\"\.?",
        r"the function called has the arguments \1: \2",
    ),
    (
        r"Cannot infer the type of variable '(.*?)(?:\.\d+)?'.*",
        r"what '\1' holds is unknown: nothing is ever put into it",
    ),
    (r"Cannot unify (.*) and (.*) for '(.*?)(?:\.\d+)?',.*", r"'\3' is of two types: \1 and \2"),
    (r"Can't unify return type from the following types: (.*)", r"it returns values of several types: \1"),
    (r"Use of unsupported opcode \((\w+)\) found.*", r"such a statement has no compiled form (\1)"),
    (r"(.*?)\.?\s*Raised from .*", r"\1"),
    (r".*exception_match\(.*", "exceptions can be caught only by `except Exception`"),
    (r"The use of yield in a closure is unsupported\.", "a generator expression has no compiled form; a loop has"),
    (r"^NameError: ", ""),
    (
        r"(no such operation for these types: i?(?:and|or|xor|lshift|rshift|invert)\(.*float64.*)",
        r"\1; what is a uint64 once and signed once becomes a float64: U(1) instead of 1",
    ),
    (r"Invalid use of (.*) with parameters .*", r"\1 is called, but it is no function"),
]


_failures: list[tuple[str, tuple[Path, int]]] = []  # of the compilation under way: cause and place, innermost first


def begin() -> None:
    """A compilation starts: forget the failures of earlier ones. (numba compiles one function at a time.)"""
    _failures.clear()


def note(error: Exception) -> None:
    """A call failed to compile: record its places, which the error may lose on its way out."""
    _failures.extend((_cause(error), place) for place in _places(error))


def explained(error: Exception, function: types.FunctionType) -> str:
    """Two lines out of numba's forty: file and line, and the cause."""
    cause = _cause(error)
    known = [place for what, place in _failures if what == cause] + _places(error)
    stands = Path(function.__code__.co_filename), function.__code__.co_firstlineno
    # A wrong argument of a helper in this folder is a mistake of its caller.
    file, line = min(known, key=lambda place: place[0].is_relative_to(_HERE), default=stands)
    return f"{_shortest(file)}, line {line}: can't be compiled\n{cause}"


def _cause(error: Exception) -> str:
    text = _text(error)
    causes = [line.strip() for line in text.splitlines() if line.strip() and not _NOISE.match(line.strip())]
    cause = causes[0] if causes else type(error).__name__
    if "No implementation of function" in cause:  # the failed call is three lines below
        called = next((line for line in text.splitlines() if line.strip().startswith(">>>")), "")
        cause = f"no such operation for these types: {called.replace('>>>', '').strip()}"
    elif isinstance(error, KeyError):
        cause = _missing_field(error)
    elif not isinstance(error, NumbaError | NameError | AttributeError | UnsupportedBytecodeError):
        cause = f"{type(error).__name__}: {cause}"
    for pattern, words in _PLAIN_WORDS:
        cause = re.sub(pattern, words, cause)
    return cause


def _text(error: Exception) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", str(error))


def _places(error: Exception) -> list[tuple[Path, int]]:
    """Possible places of the mistake, the likeliest first: those in the message, innermost first; then those in numba's frames."""
    return [(file, line) for file, line in _all_places(error) if not file.resolve().is_relative_to(_NUMBA)]


def _all_places(error: Exception) -> Iterator[tuple[Path, int]]:
    for place in _PLACE.finditer(_text(error)):
        yield Path(place["file"] or place["raiser"]).absolute().resolve(), int(place["line"] or place["at"])
    line = 0
    for frame in reversed(_frames(error)):
        for value in frame.f_locals.values():
            found = value if isinstance(value, Loc) else getattr(value, "loc", None)
            if isinstance(value, ByteCodeInst):
                line = line or value.lineno
            elif isinstance(found, Loc) and found.line and not found.filename.startswith("<"):
                yield Path(found.filename).absolute(), line or found.line


def _missing_field(error: KeyError) -> str:
    """numba looks a record's fields up in a dictionary, so the error is a bare KeyError."""
    record = _frames(error)[-1].f_locals.get("self")
    if not isinstance(record, numba.types.Record):
        return f"KeyError: {error}"
    return f"no field {error} in a record of {', '.join(record.fields)}{nearest(str(error.args[0]), record.fields)}"


def _frames(error: Exception) -> list[types.FrameType]:
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames


def _shortest(file: Path) -> str:
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)
