"""Pipelines and stages by name.

Stages register by the entry point group ``citewell.stages``, pipelines by ``citewell.pipelines`` (a mapping, or a function that
returns one), citewell's own like those of any other package. ``$CITEWELL_PIPELINES`` may name a TOML file with more pipelines.
"""

from __future__ import annotations

import math
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from citewell.errors import CitewellError
from citewell.pipeline.contract import Component, Stage
from citewell.pipeline.pipeline import Pipeline
from citewell.plugins import plugins

DEFAULT = "best"

ALIASES = {
    "meaning": "dense-citewell",
    "meaning-context": "dense-citewell-context",
    "meaning-abstract": "dense-citewell-abstract",
    "meaning-static": "static-citewell",
    "words-and-meaning": "hybrid-rrf",
    "cited-together": "co-cited",
    "cited-by-the-best": "references-of-top",
    "cited-by-the-like": "references-of-similar",
    "by-the-authors": "same-authors",
    "cited-by-the-authors": "references-of-same-authors",
    "said-before": "context-similarity",
    "reading": "cross-encoder",
    "weighed": "learned",
    "weighed-company": "learned-co-citation",
    "bm25-near": "bm25-proximity",
}
"""Earlier names of pipelines, and their names now."""

RENAMED_KINDS = {
    "learned": "ltr",
    "company": "co-citation",
    "said-before": "context-similarity",
    "quoted": "sentence-boost",
    "pipeline": "sub-pipeline",
    "linked": "links",
    "embedded": "paper-embeddings",
    "topics": "lda",
}
"""Earlier names of stage kinds, and their names now: an error about one names the other."""

RENAMED_PARAMETERS = {
    "may_lack": "optional",
    "kind_of_link": "link",
    "counting": "weigh_by",
    "starts": "seeds_name",
    "lifted": "boost",
    "read": "reread",
}
"""Earlier names of parameters, and their names now."""


def pipeline(name: str = DEFAULT, **overrides: Any) -> Pipeline:
    """The pipeline called `name`; `overrides` replace parameters of the stages that have them.

    A part of a parameter is named with a dot: ``{"fields.cited": 0.5}``.
    """
    return _build(_current_name(name), overrides, ())


def as_pipeline(pipeline_: str | Pipeline | Stage) -> Pipeline:
    """A pipeline by name, as it is, or made of one stage."""
    if isinstance(pipeline_, Stage):
        return Pipeline.of(pipeline_)
    return pipeline(pipeline_) if isinstance(pipeline_, str) else pipeline_


@lru_cache(maxsize=1)
def definitions() -> Mapping[str, Mapping[str, Any]]:
    """Every named pipeline as data, in order."""
    known: dict[str, Any] = {}
    for plugin in plugins("citewell.pipelines").values():
        try:
            given = plugin.load()
            known |= _checked(given() if callable(given) else given, f"the {plugin}")
        except CitewellError as error:
            if plugin.own:
                raise
            print(f"citewell: {error}", file=sys.stderr)  # the other pipelines still work
    return known | _user_definitions(os.environ.get("CITEWELL_PIPELINES", ""))


def stage_kinds() -> list[str]:
    """The kinds of stages that pipelines can have."""
    return list(plugins("citewell.stages"))


def _user_definitions(path: str) -> dict[str, Any]:
    """The pipelines of a user's own file."""
    if not path:
        return {}
    try:
        given = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CitewellError(f"$CITEWELL_PIPELINES names {path}, which cannot be read: {error}") from None
    return _checked(given, path)


def _checked(given: Any, source: str) -> dict[str, Any]:
    """Definitions that have the right shape; the parameters of their stages are checked when they are built."""
    if not isinstance(given, Mapping):
        raise CitewellError(f"{source}: pipelines must be a table of name and definition.")
    for name, definition in given.items():
        if not (isinstance(definition, Mapping) and isinstance(definition.get("about"), str)):
            raise CitewellError(f'{source}: the pipeline {name!r} needs a line "about" that says what it does.')
        stages = definition.get("stages")
        if not isinstance(stages, list) or not stages:
            raise CitewellError(f'{source}: the pipeline {name!r} needs a list of "stages".')
        for stage in stages:
            if not isinstance(stage, Mapping) or stage.get("kind") not in stage_kinds():
                kind = stage.get("kind") if isinstance(stage, Mapping) else stage
                raise CitewellError(f"{source}: a stage of the pipeline {name!r} has the unknown kind {kind!r}. {_hint(kind)}")
    return dict(given)


def _hint(kind: object) -> str:
    """What to write instead of an unknown kind of stage."""
    if isinstance(kind, str) and kind in RENAMED_KINDS:
        return f"It is now called {RENAMED_KINDS[kind]!r}."
    return f"Choose one of {', '.join(stage_kinds())}."


def _current_name(name: str) -> str:
    """The current name of a pipeline; `name` may be an earlier one."""
    if name not in ALIASES or name in definitions():
        return name
    _warn_renamed(name)
    return ALIASES[name]


@lru_cache(maxsize=len(ALIASES))
def _warn_renamed(name: str) -> None:
    """Print the new name on standard error, once per process."""
    print(f"citewell: the pipeline {name!r} is now called {ALIASES[name]!r}", file=sys.stderr)


# -- building pipelines from their definitions ----------------------------------------------------------------------


def _build(name: str, overrides: Mapping[str, Any], within: tuple[str, ...]) -> Pipeline:
    """The pipeline called `name`, as a part of the pipelines `within`."""
    if name in within:
        raise CitewellError(f"The pipeline {name!r} contains itself: {' → '.join((*within, name))}.")
    definition = definitions().get(name)
    if definition is None:
        close = get_close_matches(name, definitions(), 3)
        hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise CitewellError(f"There is no pipeline {name!r}.{hint} 'citewell pipelines' lists them all.")
    classes = [_stage_class(parameters["kind"]) for parameters in definition["stages"]]
    if unused := [key for key in overrides if not any(_takes(kind, key) for kind in classes)]:
        raise CitewellError(f"No stage of the pipeline {name!r} has a parameter {unused[0]!r}.")
    stages = (
        _stage(kind, parameters, overrides, name, within)
        for kind, parameters in zip(classes, definition["stages"], strict=True)
    )
    return Pipeline(name, definition["about"], tuple(stages))


def _stage_class(kind: str) -> type[Any]:
    stage = plugins("citewell.stages")[kind].load()
    if not (isinstance(stage, type) and issubclass(stage, Stage) and is_dataclass(stage)):
        raise CitewellError(f"The stage {kind!r} is not a dataclass derived from Retriever, Reranker or Fusion.")
    return stage


def _stage(
    stage: type[Any], definition: Mapping[str, Any], overrides: Mapping[str, Any], name: str, within: tuple[str, ...]
) -> Stage:
    parameters = {key: value for key, value in definition.items() if key != "kind"}
    for key, value in overrides.items():
        if _takes(stage, key):
            whole, _, part = key.partition(".")
            parameters[whole] = {**parameters.get(whole, {}), part: value} if part else value
    where = f"The stage {definition['kind']!r} of the pipeline {name!r}"
    known = {field.name: field for field in fields(stage)}
    if unknown := [key for key in parameters if key not in known]:
        renamed = RENAMED_PARAMETERS.get(unknown[0])
        hint = f"It is now called {renamed!r}." if renamed in known else f"It has {', '.join(known)}."
        raise CitewellError(f"{where} has no parameter {unknown[0]!r}. {hint}")
    if missing := [key for key, field in known.items() if _required(field) and key not in parameters]:
        raise CitewellError(f"{where} needs the parameter {missing[0]!r}.")
    values = {key: _value(known[key], value, where, (*within, name)) for key, value in parameters.items()}
    built: Stage = stage(**values)
    return built


def _takes(stage: type[Any], key: str) -> bool:
    return key.partition(".")[0] in {field.name for field in fields(stage)}


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _value(field: Field[Any], value: Any, where: str, within: tuple[str, ...]) -> Any:
    """A parameter as its stage takes it: names of pipelines become those pipelines, lists become tuples."""
    annotation = str(field.type)
    if Component.__name__ in annotation:
        names = value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(each, str | Component) for each in names):
            raise CitewellError(f"{where}: the parameter {field.name!r} must name pipelines, not {value!r}.")
        parts = tuple(_build(_current_name(each), {}, within) if isinstance(each, str) else each for each in names)
        if annotation.startswith("tuple"):
            return parts
        if len(parts) != 1:
            raise CitewellError(f"{where}: the parameter {field.name!r} must be one pipeline.")
        return parts[0]
    if annotation.startswith("tuple"):
        value = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not _fits(annotation, value):
        raise CitewellError(f"{where}: the parameter {field.name!r} must be of the type {annotation}, not {value!r}.")
    return value


def _fits(annotation: str, value: Any) -> bool:
    """Whether a value from TOML, or from the command line, has the type of a parameter."""
    match annotation.replace(" ", ""):
        case "float":
            return _is_number(value)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "bool":
            return isinstance(value, bool)
        case "str":
            return isinstance(value, str)
        case "tuple[int,...]":
            return all(_fits("int", each) for each in value)
        case "tuple[float,...]":
            return all(_is_number(each) for each in value)
        case "tuple[str,...]":
            return all(isinstance(each, str) for each in value)
        case "dict[str,float]":
            return isinstance(value, dict) and all(_is_number(each) for each in value.values())
        case "dict[str,int]":
            return isinstance(value, dict) and all(_fits("int", each) for each in value.values())
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
