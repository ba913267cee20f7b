"""Finds the fenced blocks of a Markdown page and runs them: shell blocks in bash, Python blocks in this process.

A page may say what to do with the block that follows, in a comment on the line before it:

- ``<!-- not run: REASON -->``: the block cannot run in a test (network, hours of training). Tests show it as skipped.
- ``<!-- slow: REASON -->``: the block runs only with the tests that are marked slow.
- ``<!-- server -->``: the block starts servers; the first one runs until the page ends.

A block with a title (````` ```python title="most_cited.py" `````) is the content of that file.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citewell.pipeline.registry import stage_kinds

_DIRECTIVE = re.compile(r"<!-- (not run|slow|server)(?:: (.+))? -->")
_FENCE = re.compile(r"(?P<indent> *)```(?P<language>[\w-]*)(?: +(?P<attributes>.+))?$")
_TITLE = re.compile(r'title="([^"]+)"')
_STATUS_OF_FINDINGS = re.compile(r"citewell check\b")
"""`citewell check` exits with 1 where it has findings, which is what the pages show."""
SHELL = ("sh", "bash")
_TIMEOUT = 180


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    text: str
    title: str = ""
    directive: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(path: Path, name: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    lines = path.read_text("utf-8").splitlines()
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            at += 1
            continue
        indent, start = len(fence["indent"]), at + 1
        end = next(i for i in range(start, len(lines)) if lines[i].strip() == "```")
        text = "\n".join(line[indent:] for line in lines[start:end]) + "\n"
        title = _TITLE.search(fence["attributes"] or "")
        directive = _DIRECTIVE.search(lines[at - 1]) if at else None
        yield Block(
            name,
            at + 1,
            fence["language"],
            text,
            title[1] if title else "",
            directive[1] if directive else "",
            (directive[2] or "") if directive else "",
        )
        at = end + 1


class Session:
    """One reader who follows a page: a folder, an environment, and the names that the Python blocks have defined."""

    def __init__(self, folder: Path, environment: dict[str, str], port: int) -> None:
        self.folder = folder
        self.environment = environment
        self._port = port
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._servers: list[subprocess.Popen[str]] = []

    def run(self, block: Block) -> None:
        """Run a block, or write the file that it is."""
        if block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            merge = path.name == "pyproject.toml" and path.exists()
            path.write_text(merge_toml(path.read_text("utf-8"), block.text) if merge else block.text, "utf-8")
        elif block.directive == "server":
            self._serve(block)
        elif block.language in SHELL:
            self._shell(block)
        elif block.language == "python":
            self._python(block)
        elif block.language == "toml":
            self._toml(block)

    def _toml(self, block: Block) -> None:
        """Stages of pipelines must exist."""
        tables = [table for table in tomllib.loads(block.text).values() if isinstance(table, dict)]
        for stage in (stage for table in tables for stage in table.get("stages", ())):
            assert stage["kind"] in stage_kinds(), f"{block}: there is no stage {stage['kind']!r}"

    def close(self) -> None:
        """Stop what the blocks have started."""
        for server in self._servers:
            _stop(server)

    def _python(self, block: Block) -> None:
        code = compile("\n" * block.line + block.text, block.page, "exec", dont_inherit=True)
        before, environment = Path.cwd(), dict(os.environ)
        os.chdir(self.folder)
        os.environ.update(self.environment)
        try:
            exec(code, self._names)
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)

    def _shell(self, block: Block) -> None:
        failures, after = self.folder / ".failures", self.folder / ".environment"
        failures.write_text("")
        trap = f"""trap 'printf "%s %s\\n" "$?" "$BASH_COMMAND" >> {shlex.quote(str(failures))}' ERR"""
        script = f"set -u -o pipefail\n{trap}\n{self._ported(block.text)}\ntrap - ERR\nenv -0 > {shlex.quote(str(after))}\n"
        bash = subprocess.Popen(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            output, errors = bash.communicate(timeout=_TIMEOUT)
        except subprocess.TimeoutExpired:
            _stop(bash)
            raise AssertionError(f"{block} takes more than {_TIMEOUT} s; mark it as slow, or as a server") from None
        failed = [line for line in failures.read_text().splitlines() if not _is_finding(line)]
        assert bash.returncode == 0 and not failed, f"{block}: {failed}\n{output[-2000:]}\n{errors[-3000:]}"
        assert "Traceback" not in errors, f"{block}:\n{errors[-3000:]}"
        self.environment = dict(each.split("=", 1) for each in after.read_text().split("\0") if "=" in each)

    def _serve(self, block: Block) -> None:
        """Start every server of the block without a browser, the first one last: it stays, on a free port.

        A library has one server at a time.
        """
        commands = [line.partition(" #")[0] for line in block.text.splitlines() if re.search(r"citewell (study )?serve", line)]
        for number, command in reversed(list(enumerate(commands))):
            port = 0 if number else self._port
            server = subprocess.Popen(
                ["bash", "-c", f"{command} --no-open --port {port} --json"],
                cwd=self.folder,
                env=self.environment,
                text=True,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            assert server.stdout is not None
            try:
                assert '"url"' in server.stdout.readline(), f"{block}: {command} did not start"
            finally:
                if number:
                    _stop(server)
                else:
                    self._servers.append(server)

    def _ported(self, text: str) -> str:
        return text.replace("localhost:8765", f"localhost:{self._port}").replace("127.0.0.1:8765", f"127.0.0.1:{self._port}")


def _stop(server: subprocess.Popen[str]) -> None:
    """Stop a server as Ctrl-C does: every process of its group gets the signal."""
    os.killpg(server.pid, signal.SIGINT)
    server.wait(30)


def merge_toml(text: str, additions: str) -> str:
    """A TOML file with the lines of `additions` below their headings; new headings go to the end."""
    for section in re.split(r"^(?=\[)", additions, flags=re.MULTILINE):
        heading, _, lines = section.strip().partition("\n")
        if heading and f"{heading}\n" in text:
            text = text.replace(f"{heading}\n", f"{heading}\n{lines}\n", 1)
        elif heading:
            text = f"{text.rstrip()}\n\n{heading}\n{lines}\n"
    return text


def _is_finding(line: str) -> bool:
    status, _, command = line.partition(" ")
    return status == "1" and _STATUS_OF_FINDINGS.match(command) is not None
