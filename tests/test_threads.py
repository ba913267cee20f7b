"""The number of threads: who sets it, and that results do not depend on it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from citewell import threads
from citewell.errors import CitewellError
from citewell.models import cross_encoder, encoder, onnx
from citewell.models.inputs import PaperText
from citewell.papers import Query
from citewell.processes import command, environment

PACKAGE = Path(threads.__file__).parent
WORDS = "boats gulls tides harbour photographs of the count and low water drones film wings error review".split()


def made_up_texts(count: int) -> list[str]:
    random = np.random.default_rng(3)
    return [" ".join(random.choice(WORDS, random.integers(20, 160))) for _ in range(count)]


@pytest.fixture
def set_threads(monkeypatch: pytest.MonkeyPatch):
    return lambda value: monkeypatch.setenv(threads.VARIABLE, str(value))


def test_the_variable_sets_the_number(set_threads) -> None:
    set_threads(3)
    assert threads.count() == 3 and threads.share(2) == 1
    set_threads(16)
    assert threads.count() == 16 and threads.share(2) == 8 and threads.share(40) == 1


def test_the_default_is_the_cores_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    assert threads.count() == min(threads.cores(), 8)
    assert 1 <= threads.cores() <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_the_default_follows_the_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    assert threads.count() == 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)))
    monkeypatch.setattr(threads, "_QUOTA", Path("/no/such/file"))
    assert threads.count() == 8


def test_a_quota_limits_the_cores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    for text, cores in (("250000 100000\n", 3), ("50000 100000\n", 1), ("max 100000\n", 64)):
        (tmp_path / "cpu.max").write_text(text)
        monkeypatch.setattr(threads, "_QUOTA", tmp_path / "cpu.max")
        assert threads.cores() == cores


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
def test_a_wrong_number_is_an_error_of_one_line(set_threads, value: str) -> None:
    set_threads(value)
    with pytest.raises(CitewellError, match=r"CITEWELL_THREADS is .*; set it to a whole number"):
        threads.count()


@pytest.mark.parametrize("number", [1, 2, 7])
def test_the_map_keeps_the_order_and_few_results_in_memory(set_threads, number: int) -> None:
    set_threads(number)
    taken: list[int] = []

    def items():
        for item in range(1, 101):
            taken.append(item)
            yield item

    def slow(item: int) -> int:
        time.sleep(0.002 * (item % 3))
        return item * item

    results = threads.ordered_map(slow, items())
    assert next(results) == 1
    assert len(taken) <= 2 * number + 2
    assert list(results) == [item * item for item in range(2, 101)]
    assert list(threads.ordered_map(slow, [])) == [] and list(threads.ordered_map(slow, [4])) == [16]


def test_the_map_computes_at_the_same_time(set_threads) -> None:
    set_threads(3)
    meeting = threading.Barrier(3, timeout=20)
    assert sorted(threads.ordered_map(lambda item: meeting.wait(), range(3))) == [0, 1, 2]


def test_an_error_in_the_map_reaches_the_caller(set_threads) -> None:
    set_threads(2)
    with pytest.raises(ZeroDivisionError):
        list(threads.ordered_map(lambda item: 1 // item, [1, 1, 0, 1]))
    assert list(threads.ordered_map(abs, [-1, -2])) == [1, 2]


def test_a_map_inside_a_map_does_not_wait_for_itself(set_threads) -> None:
    set_threads(2)
    nested = threads.ordered_map(lambda item: list(threads.ordered_map(abs, range(item))), [3] * 8)
    assert list(nested) == [[0, 1, 2]] * 8


def test_sessions_run_on_the_calling_thread_and_do_not_spin() -> None:
    options = onnx.session(encoder.weights.folder("citewell")).get_session_options()
    assert options.intra_op_num_threads == 1 and options.inter_op_num_threads == 1
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"


def test_vectors_do_not_depend_on_the_number_of_threads(set_threads) -> None:
    model, texts = encoder.load("citewell"), made_up_texts(64)
    vectors = []
    for number in (1, 2, 5):
        set_threads(number)
        vectors.append(model.papers([PaperText("Boats", text) for text in texts]).tobytes())
    assert vectors[0] == vectors[1] == vectors[2]


@pytest.mark.parametrize("name", ["citewell-cross", "citewell-cross-large"])
def test_scores_do_not_depend_on_the_number_of_threads(set_threads, name: str) -> None:
    papers = [PaperText("Boats", text) for text in made_up_texts(25)]
    scores = []
    for number in (1, 2, 3, 8):
        set_threads(number)
        model = cross_encoder._loaded.__wrapped__(name, "")  # not the cached one with another number of threads
        scores.append(model.scores(Query("evidence", context="Gulls spoil the count"), papers).tobytes())
        assert model._model._session.get_session_options().intra_op_num_threads == number
    assert len(set(scores)) == 1


def test_kernels_are_serial() -> None:
    sources = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py") if path.name != "threads.py"}
    assert not [path for path, text in sources.items() if "prange" in text or "parallel=True" in text]
    assert not [path for path, text in sources.items() if "cpu_count" in text or "SessionOptions" in text]


def blas_threads() -> list[int]:
    from threadpoolctl import threadpool_info

    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_keeps_to_one_thread_inside_the_block_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from threadpoolctl import threadpool_limits

    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    np.zeros((2, 2)) @ np.zeros((2, 2))
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        if set(before) != {2}:
            pytest.skip("this BLAS has no threads to limit")
        with threads.one_blas_thread():
            with threads.one_blas_thread():
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_our_processes_start_with_libraries_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    variables = environment(2)
    assert (variables["OPENBLAS_NUM_THREADS"], variables["MKL_NUM_THREADS"], variables[threads.VARIABLE]) == ("1", "3", "2")
    child = subprocess.run(
        [*command("citewell.threads:count")[:2], "-c", "from citewell import threads; print(threads.count())"],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout == "2\n"


def test_the_commands_limit_libraries_before_numpy_is_loaded() -> None:
    code = "import sys, citewell.cli.main; print('numpy' in sys.modules)"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    assert child.stdout == "False\n"
