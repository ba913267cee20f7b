"""Schemathesis makes requests of the server's own description, well formed and not; none is answered with a server error."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.serve.served import Served

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 12


def test_no_request_is_a_server_error(served: Served) -> None:
    described = schemathesis.openapi.from_url(f"{served.url}api/openapi.json")
    asked = set()
    for found in described.get_all_operations():
        operation = found.ok()
        modes = [GenerationMode.POSITIVE]
        if operation.body or operation.query or operation.path_parameters:
            modes.append(GenerationMode.NEGATIVE)  # where nothing is given, nothing can be wrong with it
        for mode in modes:
            # Not through Schemathesis' own fixtures, which do not go with every version of pytest.
            @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: Any) -> None:
                case.call_and_validate(checks=CHECKS)

            ask()
        asked.add(operation.label)
    assert {"POST /api/suggest", "POST /api/add", "GET /api/papers/{id}/related", "POST /api/draft/file"} <= asked
    assert served.client.get("/api/health").status_code == 200
