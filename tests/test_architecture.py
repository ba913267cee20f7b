"""The import rules: which package may import which, lazy imports counted, and no cycle between packages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "citewell"
INTERFACES = {"pipeline": "pipeline.contract", "collection": "collection.interface"}
"""The one module of a package that stages may import."""
STAGES = {"retrieve", "expand", "fuse", "rerank"}
STORAGE = {"library", "cluster"}
DOORS = {"cli", "serve", "mcp", "lsp"}
NEXT_TO_PIPELINE = {"evaluate", "train"}
"""Packages next to the pipeline, which nothing but the command line imports."""
ONLY = {"torch": "train", "gensim": "train", "lightgbm": "train", "ray": "cluster"}
"""Libraries that only one package may import."""


def package(module: str) -> str:
    """The package of a module, or the module itself where it is a file at the top."""
    return module.removeprefix("citewell").removeprefix(".").split(".")[0]


def imports() -> Iterator[tuple[str, str]]:
    """Every import inside the package: who imports, and what, as full module names."""
    for path in ROOT.rglob("*.py"):
        module = ".".join(("citewell", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        tree = ast.parse(path.read_text("utf-8"))
        checked_only = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if id(node) in checked_only:
                continue
            if isinstance(node, ast.Import):
                yield from ((module, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    is_module = (ROOT.parent / Path(*inner.split("."))).with_suffix(".py").exists() or (
                        ROOT.parent / Path(*inner.split("."))
                    ).is_dir()
                    yield module, inner if is_module else node.module


MODULES = sorted({(package(a), b.removeprefix("citewell.")) for a, b in imports() if b.startswith("citewell.")})
OWN = sorted({(package(a), package(b)) for a, b in imports() if b.startswith("citewell") and package(a) != package(b)})
OUTSIDE = sorted({(package(a), b.split(".")[0]) for a, b in imports() if not b.startswith("citewell")})


def test_packages_import_one_way() -> None:
    graph: dict[str, set[str]] = {}
    for importer, imported in OWN:
        if imported and importer not in ("", "__main__"):  # the package itself loads its public names lazily
            graph.setdefault(importer, set()).add(imported)
    TopologicalSorter(graph).prepare()  # raises CycleError and names the cycle


@pytest.mark.parametrize("stages", sorted(STAGES | {"ranking"}))
def test_stages_see_interfaces_and_no_storage(stages: str) -> None:
    imported = {b for a, b in OWN if a == stages}
    assert not imported & (STORAGE | DOORS | NEXT_TO_PIPELINE | {"draft", "sources"}), imported
    for name, interface in INTERFACES.items():
        assert {b for a, b in MODULES if a == stages and package(b) == name} <= {interface}


def test_models_and_text_do_not_import_the_library() -> None:
    for low in ("models", "text", "sources"):
        imported = {b for a, b in OWN if a == low}
        assert not imported & (STORAGE | STAGES | DOORS | NEXT_TO_PIPELINE | {"draft", "pipeline", "collection", "ranking"}), (
            low,
            imported,
        )


def test_only_the_command_line_imports_packages_outside_the_pipeline() -> None:
    for package_name in NEXT_TO_PIPELINE:
        importers = {a for a, b in OWN if b == package_name}
        assert importers <= {"cli", *NEXT_TO_PIPELINE}, (package_name, importers)
    assert ("evaluate", "train") not in OWN


def test_nothing_imports_the_command_line_or_the_server() -> None:
    for door in DOORS:
        importers = {a for a, b in OWN if b == door}
        assert importers <= {"__main__", "cli"}, (door, importers)


@pytest.mark.parametrize(("library", "owner"), ONLY.items())
def test_heavy_libraries_stay_where_they_belong(library: str, owner: str) -> None:
    assert {a for a, b in OUTSIDE if b == library} <= {owner}
