"""Parser of deploy/docker/Dockerfile for tests: instructions, and the files that COPY brings in."""

import compileall
import fnmatch
import re
import shutil
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

BASE = Path(__file__).resolve().parents[2]
DOCKERFILE = BASE / "deploy" / "docker" / "Dockerfile"


class Instruction(NamedTuple):
    """One instruction with its continued lines joined; `stage` counts FROM."""

    stage: int
    name: str
    text: str


def instructions(path: Path = DOCKERFILE) -> list[Instruction]:
    """Return the instructions of a Dockerfile."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    found, stage = [], -1
    for line in filter(None, joined.splitlines()):
        name, _, text = line.partition(" ")
        stage += name == "FROM"
        found.append(Instruction(stage, name, text.strip()))
    return found


def last(name: str) -> str:
    """Return the text of the last instruction of this name in the last stage."""
    found = instructions()
    return [each.text for each in found if each.name == name and each.stage == found[-1].stage][-1]


def settings() -> dict[str, str]:
    """Return the environment that the image has."""
    return dict(pair.split("=", 1) for pair in last("ENV").split())


def copied_from_context(stage: int) -> list[tuple[list[str], str]]:
    """Return sources and destination of each COPY from the build context in a stage."""
    copies = [each.text.split() for each in instructions() if each.stage == stage and each.name == "COPY"]
    return [(words[:-1], words[-1]) for words in copies if not words[0].startswith("--from")]


def is_left_out(path: str) -> bool:
    """Return whether .dockerignore excludes a file from the build context: the last matching line decides."""
    out = False
    for line in (BASE / ".dockerignore").read_text().splitlines():
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        if _fits(path, pattern.removeprefix("!")):
            out = not pattern.startswith("!")
    return out


def _fits(path: str, pattern: str) -> bool:
    parts = path.split("/")
    if pattern.startswith("**/"):
        return any(fnmatch.fnmatchcase(part, pattern[3:]) for part in parts)
    upper = ["/".join(parts[: number + 1]) for number in range(len(parts))]
    return any(fnmatch.fnmatchcase(each, pattern) and each.count("/") == pattern.count("/") for each in upper)


def lay_out(folder: Path) -> None:
    """Build the working directory of the last stage in a folder, by COPY, .dockerignore and compileall."""
    compiled = last("RUN").partition(" -q ")[2].partition(" &&")[0].split()
    for sources, target in copied_from_context(instructions()[-1].stage):
        for source in sources:
            for file in _files(BASE / source):
                if is_left_out(file.relative_to(BASE).as_posix()):
                    continue
                place = folder / target
                if (BASE / source).is_dir():
                    place /= file.relative_to(BASE / source)
                elif target.endswith("/"):
                    place /= file.name
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, place)
                place.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)  # with the mode that git records
                if file.suffix == ".py" and source in compiled:
                    _lay_out_bytecode(file, place)


def _lay_out_bytecode(file: Path, place: Path) -> None:
    """Compile a module once for this checkout: the bytecode is valid for a copy of the same time and size."""
    compileall.compile_file(file, quiet=1)
    bytecode = Path(cache_from_source(str(place)))
    bytecode.parent.mkdir(exist_ok=True)
    shutil.copyfile(cache_from_source(str(file)), bytecode)


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
