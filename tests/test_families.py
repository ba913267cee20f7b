"""Families of definitions, and those that ship: recipes and pipelines of the same names."""

from __future__ import annotations

import re
from typing import Any

import pytest

from citewell.errors import CitewellError
from citewell.families import expand, pattern
from citewell.pipeline.registry import definitions, pipeline
from citewell.rerank.enhanced_context import EnhancedContext
from citewell.train import recipe_files

FAMILY: dict[str, Any] = {
    "prefix": "cake",
    "common": {"about": "A cake", "oven": {"degrees": 180, "minutes": 40}, "label": "of {name}", "layers": [{"of": "{name}"}]},
    "parts": {
        "flavour": {"lemon": {"about": "sour"}, "plum": {"about": "sweet", "oven": {"minutes": 50}}},
        "icing": {"": {}, "iced": {"about": "with icing"}},
        "size": {"": {"about": "small"}, "large": {"about": "large", "oven": {"degrees": 160}}},
    },
    "members": [{"flavour": ["lemon", "plum"], "size": ["", "large"]}, {"flavour": ["plum"], "icing": ["", "iced"]}],
}


def test_members_have_what_all_have_and_what_their_choices_change() -> None:
    members = expand(FAMILY)
    assert list(members) == ["cake-lemon", "cake-lemon-large", "cake-plum", "cake-plum-large", "cake-plum-iced"]
    assert members["cake-plum-large"] == {
        "about": "A cake sweet, large",
        "oven": {"degrees": 160, "minutes": 50},
        "label": "of plum-large",
        "layers": [{"of": "plum-large"}],
    }
    assert members["cake-lemon"]["oven"] == FAMILY["common"]["oven"]
    assert members["cake-plum-iced"]["about"] == "A cake sweet, with icing, small"
    assert pattern(FAMILY) == "cake-(lemon|plum)[-large], cake-plum[-iced]"


def test_every_re_ranker_of_a_family_has_its_recipe_and_first_stage() -> None:
    members = {name: each for name, each in definitions().items() if each.get("recipe", "").startswith("medic-text")}
    assert {each["recipe"] for each in members.values()} == {
        name for name in recipe_files.names() if name.startswith("medic-text")
    }
    for name, definition in members.items():
        recipe = recipe_files.by_name(definition["recipe"])
        first, second = pipeline(name).stages
        assert first == pipeline(recipe["negatives"]["first_stage"]).stages[0]
        assert second == EnhancedContext(model=name) and name.startswith(recipe["shape"]["variant"])
        assert ("strict" in name) == (recipe["negatives"]["regime"] == "strict")
        assert ("alone" in name) == recipe["negatives"]["hard_only"]
        assert ("negatives" in name) == (recipe["negatives"]["strategy"] != "random")
        assert ("MiniLM" in definition["about"]) == ("after-dense" in name)


def test_a_recipe_that_is_not_there() -> None:
    with pytest.raises(CitewellError, match=re.escape("did you mean medic-textenh-strict")) as failed:
        recipe_files.load("medic-textehn-strict")
    message = str(failed.value)
    assert "\n" not in message and "medic-(textenh|textbibenh-ws)[-negatives-prefiltered|" in message and "encoder" in message
