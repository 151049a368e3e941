"""Where experiments' scripts and the record are, the ids and the sizes; loads nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import linrep
from linrep._lib.outlines import file_of, tree
from linrep._lib.papers import papers


def folder() -> Path:
    """Return the folder of the experiments' scripts, of the repository or of the installation."""
    package = Path(linrep.__file__).parent
    shipped = package / "_experiments"
    return shipped if shipped.is_dir() else package.parent / "experiments"


def record() -> Path | None:
    """Return the folder of the recorded figures, of the repository or of the installation."""
    package = Path(linrep.__file__).parent
    places = (package / "_figures", package.parent / "figures")
    return next(filter(Path.is_dir, places), None)


def scripts() -> dict[str, Path]:
    """Return the experiments' scripts by id: linrep's, and those in the papers' folders."""
    found = {path.stem.replace("_", ".", 1): path for path in folder().glob("[a-z]*_*.py")}
    for name, paper in papers().items():
        found |= {f"{name}.{path.stem}": path for path in paper.folder.glob("figures/[a-z]*.py")}
    return found


def sizes_of(name: str) -> dict[str, str]:
    """Return the sizes of an experiment of linrep with a line on each, as their class's source has.

    Those of an id; there are none of what is not linrep's.
    """
    path = folder() / f"{name.replace('.', '_', 1)}.py"
    if not path.is_file():
        return {}
    script = tree(path)
    homes = {
        each.asname or each.name: node.module
        for node in script.body
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
    }
    for node in ast.walk(script):
        match node:
            case ast.keyword(arg="sizes", value=ast.Call(func=ast.Name(kind))):
                home = tree(file_of(homes[kind])) if kind in homes else script
                return _fields(home, kind)
            case ast.keyword(
                arg="sizes", value=ast.Call(func=ast.Attribute(ast.Name(module), kind))
            ):
                return _fields(tree(file_of(f"{homes[module]}.{module}")), kind)
            case ast.Call(func=ast.Name("load"), args=[ast.Constant(str(other))]):
                return sizes_of(other)
    return {}


def _fields(module: ast.Module, kind: str) -> dict[str, str]:
    """Return the fields of a class: what each is, and its default value."""
    found = {}
    classes = (each for each in module.body if isinstance(each, ast.ClassDef))
    for each in next(node.body for node in classes if node.name == kind):
        match each:
            case ast.AnnAssign(
                target=ast.Name(name), value=ast.Call(args=[default, ast.Constant(str(what)), *_])
            ):
                values = ast.unparse(default).strip("()").replace(", ", ",").replace("'", "")
                found[name] = f"{what}  [default: {values}]"
    return found


def available() -> list[str]:
    """Return the ids of the experiments of linrep and of the papers that packages bring."""
    return sorted(scripts())


def title(path: Path) -> str:
    """Return the title that a script gives its experiment, read without running the script.

    Where it gives none as a text, its own first line.
    """
    script = ast.parse(path.read_bytes(), filename=path.name)
    for statement in script.body:
        match statement:
            case ast.Assign([ast.Name("EXPERIMENT")], ast.Call(keywords=keywords)):
                for keyword in keywords:
                    match keyword:
                        case ast.keyword("title", ast.Constant(str(text))):
                            return text
    return (ast.get_docstring(script) or "").partition("\n")[0]
