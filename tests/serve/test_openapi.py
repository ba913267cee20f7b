"""Schemathesis sends valid and invalid requests generated from the OpenAPI description; none causes a server error."""

from __future__ import annotations

from typing import Any

import pytest
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


@pytest.mark.slow
def test_no_request_causes_a_server_error(served: Served) -> None:
    description = schemathesis.openapi.from_url(f"{served.url}api/openapi.json")
    called = set()
    for result in description.get_all_operations():
        operation = result.ok()
        modes = [GenerationMode.POSITIVE]
        if operation.body or operation.query or operation.path_parameters:
            modes.append(GenerationMode.NEGATIVE)  # a request without parameters cannot be invalid
        for mode in modes:
            # Not with Schemathesis' own fixtures, which do not work with every version of pytest.
            @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy(generation_mode=mode))
            def send(case: Any) -> None:
                case.call_and_validate(checks=CHECKS)

            send()
        called.add(operation.label)
    assert {"POST /api/suggest", "POST /api/add", "GET /api/papers/{id}/related", "POST /api/draft/file"} <= called
    assert served.client.get("/api/health").status_code == 200
