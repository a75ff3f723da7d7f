"""What an operator installs: the wheel, alone, in an environment that has no compiler and may not be written to.

`make test` copies the dependencies from the running environment, so that it needs no index. `make test-wheels` sets
KB_PYTHONS and installs them as wheels from the index, on each of those Pythons.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from email.message import Message
from email.parser import BytesParser
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
VERSION = "0.1.0"
COMPILERS = ("cc", "gcc", "clang", "c99", "c++", "g++")
# Root is not stopped by permission bits until it gives up the right to ignore them.
OBEY_PERMISSIONS = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []

pytestmark = [pytest.mark.packaging, pytest.mark.xdist_group("packaging")]


def run(command: Sequence[str | Path], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False
    )


def must(command: Sequence[str | Path], cwd: Path, **environment: str) -> str:
    ran = run(command, cwd, **environment)
    assert ran.returncode == 0, f"{command} exited {ran.returncode}:\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def working_pythons() -> list[str]:
    """The Pythons that KB_PYTHONS names and that start, or the one that runs the tests."""
    found = [path for name in os.environ.get("KB_PYTHONS", "").split() if (path := shutil.which(name))]
    return [path for path in found if run([path, "-c", ""], ROOT).returncode == 0] or [sys.executable]


class Installed(NamedTuple):
    """An environment that holds the wheel and what it depends on, and an empty folder to work in."""

    environment: Path
    folder: Path

    @property
    def packages(self) -> Path:
        return next(self.environment.glob("lib/python3.*/site-packages"))

    def kb(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return run(
            [*OBEY_PERMISSIONS, self.environment / "bin/kb", *arguments],
            self.folder,
            PATH=os.defpath,
            LC_ALL="C",
            **variables,
        )


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as a release makes it: from the source distribution, not from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    must([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT], folder, **os.environ)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def facts_of_wheel(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return BytesParser().parsebytes(archive.read(f"vllm_kb-{VERSION}.dist-info/METADATA"))


@pytest.fixture(scope="session", params=working_pythons(), ids=os.path.basename)
def installed(
    request: pytest.FixtureRequest, wheel: Path, facts_of_wheel: Message, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    (folder / "empty").mkdir()
    here = Installed(folder / "environment", folder / "empty")
    (install_from_index if os.environ.get("KB_PYTHONS") else install_from_here)(
        here, str(request.param), wheel, facts_of_wheel
    )
    for path in (*here.environment.rglob("*"), here.environment, here.folder):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    return here


def without_compiler(folder: Path) -> dict[str, str]:
    """The variables of this process, less everything that leads a build to a C compiler."""
    path = folder / "no-compiler"
    path.mkdir()
    assert not any(shutil.which(name, path=str(path)) for name in COMPILERS)
    kept = {name: value for name, value in os.environ.items() if name not in {"CC", "CXX", "PYTHONPATH"}}
    return {**kept, "PATH": str(path)}


def install_from_index(here: Installed, python: str, wheel: Path, _facts: Message) -> None:
    parent = here.environment.parent
    must([python, "-m", "venv", here.environment], parent, **os.environ)
    pip: list[str | Path] = [here.environment / "bin/python", "-m", "pip", "install", "-qq"]
    must([*pip, wheel], parent, **without_compiler(parent))


def install_from_here(here: Installed, python: str, wheel: Path, facts: Message) -> None:
    parent = here.environment.parent
    must([python, "-m", "venv", "--without-pip", here.environment], parent, **os.environ)
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", here.environment / "bin/python", "install", "-qq"]
    must([*pip, "--no-index", "--no-deps", wheel], parent, **without_compiler(parent))
    for name in needed_by(facts.get_all("Requires-Dist", [])):
        copy_distribution(name, here.packages)


def needed_by(requirements: list[str]) -> set[str]:
    """The names of all that these requirements bring along in this environment, extras left out."""
    names: set[str] = set()
    for requirement in map(Requirement, requirements):
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in names:
            names |= {requirement.name, *needed_by(metadata.requires(requirement.name) or [])}
    return names


def copy_distribution(name: str, target: Path) -> None:
    for file in metadata.files(name) or []:
        if ".." not in file.parts and "__pycache__" not in file.parts:
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), target / file)


def test_the_wheel_holds_the_knowledge_as_data_and_as_a_compiled_copy(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "kb/compiled/knowledge.bin" in names
    assert "kb/causes/memory/kv-cache-smaller-than-max-model-len.yaml" in names
    assert [name for name in names if name.startswith("kb/") and name.endswith(".py")] == []


def test_the_wheel_holds_three_packages_and_its_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    facts = f"vllm_kb-{VERSION}.dist-info"
    assert {name.split("/")[0] for name in names} == {"kb", "engine", "interfaces", facts}
    assert f"{facts}/licenses/LICENSE" in names


def test_the_core_depends_on_five_libraries_that_are_published_as_wheels(facts_of_wheel: Message) -> None:
    requirements = map(Requirement, facts_of_wheel.get_all("Requires-Dist", []))
    core = {each.name.lower() for each in requirements if "extra" not in str(each.marker)}
    assert core == {"rapidfuzz", "google-re2", "hyperscan", "pyyaml", "pydantic"}


def test_the_installed_tool_names_its_version_and_the_engine_that_needs_no_compiler(installed: Installed) -> None:
    ran = installed.kb("--version")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert VERSION in ran.stdout
    assert "agenda" in ran.stdout


def test_the_installed_tool_lists_what_it_knows(installed: Installed) -> None:
    ran = installed.kb("list")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "kv-cache-smaller-than-max-model-len" in ran.stdout


@pytest.mark.parametrize("complaint", ["requests hang", "请求卡住了"])
def test_the_installed_tool_answers_with_no_home_and_nothing_to_write_to(installed: Installed, complaint: str) -> None:
    ran = installed.kb("query", complaint)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.strip()


def test_the_installed_tool_answers_with_a_home_that_cannot_be_written(installed: Installed) -> None:
    ran = installed.kb("query", "requests hang", HOME=str(installed.folder), XDG_CACHE_HOME=str(installed.folder))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert list(installed.folder.iterdir()) == []


def test_nothing_under_the_installation_can_be_written_while_these_tests_run(installed: Installed) -> None:
    touch = run(
        [*OBEY_PERMISSIONS, "touch", installed.packages / "kb/probe"], installed.folder, PATH=os.environ["PATH"]
    )
    assert touch.returncode != 0
    assert not (installed.packages / "kb/probe").exists()


def test_the_shipped_knowledge_is_used_without_reading_any_yaml(installed: Installed) -> None:
    program = (
        "import sys; from interfaces.cli.main import main; main(['query', 'requests hang']);"
        "sys.exit(f'loaded: {late}' if (late := {'yaml', 'pydantic'} & sys.modules.keys()) else 0)"
    )
    must([*OBEY_PERMISSIONS, installed.environment / "bin/python", "-c", program], installed.folder, PATH=os.defpath)


def test_the_installed_tool_and_the_checkout_give_the_same_bytes(installed: Installed) -> None:
    program = "import sys; from interfaces.cli.main import main; sys.exit(main(['query', 'requests hang', '--json']))"
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    here = must(
        [sys.executable, "-c", program], installed.folder, **{**os.environ, "PYTHONPATH": path, "KB_ENGINE": "agenda"}
    )
    assert installed.kb("query", "requests hang", "--json").stdout == here
