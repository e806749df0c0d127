"""Mutants of a module: its syntax tree with one small change. Standard library only.

Changed are comparisons, ``and`` / ``or`` / ``not``, conditions, arithmetic, constants, what is returned
and assigned, ``break`` / ``continue``, and statements (calls for their effect, ``raise``) that are left
out. Code that decides nothing is not changed: docstrings, annotations, decorators, ``__slots__``, the words of
errors, ``__repr__``, and what runs only as a command.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import cast

_COMPARISONS: dict[type, type] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_UNCHANGED_FIELDS = {"annotation", "returns", "decorator_list", "type_comment", "keywords", "bases"}
_UNCHANGED_NAMES = {"__slots__", "__all__", "Entry", "logger"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: where it is, the outermost function it is in (None: it runs at import), and what it is."""

    path: str
    number: int
    line: int
    lines: tuple[int, int]
    function: tuple[str, int] | None
    change: str
    occurrence: int

    @property
    def name(self) -> str:
        """Name the mutant without the line, which moves; the same change again has a number behind it."""
        where = self.function[0] if self.function else "(module)"
        again = f" #{self.occurrence}" if self.occurrence > 1 else ""
        return f"{self.path} {where}: {self.change}{again}"


@dataclass(frozen=True, slots=True)
class _Site:
    """A node, and how to put another in its place."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    function: tuple[str, int] | None
    lines: tuple[int, int]

    def put(self, replacement: ast.AST) -> None:
        ast.copy_location(replacement, self.node)
        if self.index is None:
            setattr(self.parent, self.field, replacement)
        else:
            getattr(self.parent, self.field)[self.index] = replacement


def mutants_of(path: str) -> list[Mutant]:
    """Return every mutant of the module."""
    return [mutant for mutant, _, _ in _all(ast.parse(Path(path).read_text()), path)]


def code_of(mutant: Mutant) -> CodeType:
    """Return the code of the module with this change in it."""
    tree = ast.parse(Path(mutant.path).read_text())
    _, site, replacement = next(found for found in _all(tree, mutant.path) if found[0].number == mutant.number)
    site.put(replacement)
    return compile(ast.fix_missing_locations(tree), str(Path(mutant.path).resolve()), "exec")


def _all(tree: ast.Module, path: str) -> Iterator[tuple[Mutant, _Site, ast.AST]]:
    number = 0
    seen: Counter[tuple[object, str]] = Counter()
    for site in _sites(tree, "", None, (1, 1)):
        for replacement in _variants(site):
            change = f"{_short(site.node)} -> {_short(replacement)}"
            line = getattr(site.node, "lineno", site.lines[0])
            seen[site.function, change] += 1
            occurrence = seen[site.function, change]
            yield Mutant(path, number, line, site.lines, site.function, change, occurrence), site, replacement
            number += 1


def _sites(node: ast.AST, scope: str, function: tuple[str, int] | None, lines: tuple[int, int]) -> Iterator[_Site]:
    for field, value in ast.iter_fields(node):
        if field in _UNCHANGED_FIELDS and not (field == "keywords" and isinstance(node, ast.Call)):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _decides_nothing(child):
                continue
            inner_scope, inner_function, inner_lines = scope, function, lines
            if isinstance(child, ast.stmt):
                inner_lines = _lines(child)
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                inner_scope = f"{scope}{child.name}."
            if isinstance(node, ast.FunctionDef) and function is None and field == "body":
                first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
                inner_function = (scope.removesuffix("."), first)
            yield _Site(child, node, field, index, inner_function, inner_lines)
            if not isinstance(child, ast.Raise):
                yield from _sites(child, inner_scope, inner_function, inner_lines)


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """Return the lines of a statement, or of the head of a compound one."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return statement.lineno, statement.end_lineno or statement.lineno
    first = body[0].lineno if hasattr(body[0], "lineno") else statement.lineno + 1
    return statement.lineno, max(statement.lineno, first - 1)


def _decides_nothing(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef(name="__repr__" | "main"):
            return True
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in _UNCHANGED_NAMES
        case ast.Assign(value=ast.Subscript(value=ast.Name(id="Callable"))):
            return True
        case ast.BinOp(op=ast.BitOr(), left=ast.Name(id=left), right=ast.Name(id=right)):
            return left[0].isupper() and right[0].isupper()  # a union of types
        case _:
            return False


def _variants(site: _Site) -> Iterator[ast.AST]:
    node = site.node
    yield from _expressions(node)
    yield from _statements(node, within_function=site.function is not None)
    is_condition = site.field == "test" or (isinstance(site.parent, ast.comprehension) and site.field == "ifs")
    if is_condition and not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), cast("ast.expr", copy.deepcopy(node)))


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                changed = copy.deepcopy(node)
                changed.ops[index] = _COMPARISONS[type(operator)]()
                yield changed
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), copy.deepcopy(node.values))
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield copy.deepcopy(node.operand)
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            yield ast.BinOp(copy.deepcopy(node.left), _ARITHMETIC[type(node.op)](), copy.deepcopy(node.right))
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.Constant(value=str() as value):
            yield ast.Constant("XX" + value)
        case ast.Constant(value=bytes() as value):
            yield ast.Constant(b"XX" + value)


def _statements(node: ast.AST, *, within_function: bool) -> Iterator[ast.AST]:
    match node:
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Assign(value=value) if within_function and not isinstance(value, ast.Constant):
            changed = copy.deepcopy(node)
            changed.value = ast.Constant(None)
            yield changed
        case ast.AugAssign() if type(node.op) in _ARITHMETIC:
            changed_in_place = copy.deepcopy(node)
            changed_in_place.op = _ARITHMETIC[type(node.op)]()
            yield changed_in_place
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Expr(value=ast.Call()) | ast.Raise():
            yield ast.Pass()


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())
    return text if len(text) <= 100 else f"{text[:97]}..."
