#!/bin/bash
# Fails when modules of a crate import one another in a circle: between files, or between the folders right below src/.
# A file that declares a module, or passes its names on, does not import it; one that names a path in it does.
set -euo pipefail
cd "$(dirname "$0")/.."
exec python3 - <<'PYTHON'
import graphlib
import re
import sys
from pathlib import Path


def paths(text):
    """The paths that a file names outside its tests, with `use a::{b, c}` written out."""
    text = re.sub(r'//[^\n]*|r#".*?"#|"(?:\\.|[^"\\])*"', " ", text, flags=re.S)
    text = text.split("#[cfg(test)]\nmod ")[0]
    # Inside a module that is written in the file, `super` is the file.
    inline = r"^(?:pub(?:\(\w+\))? )?mod \w+ \{.*?^\}"
    text = re.sub(inline, lambda found: re.sub(r"\bsuper::((?:super::)*)", r"self::\1", found[0]), text, flags=re.S | re.M)
    before = ""
    while text != before:
        before = text
        text = re.sub(
            r"((?:\w+::)+)\{([^{}]*)\}",
            lambda found: ", ".join(found[1] + part.strip() for part in found[2].split(",") if part.strip()),
            text,
        )
    # A name that is only passed on is not used.
    passed = r"^pub(?:\(\w+\))? use ([^;]*);"
    rest = re.sub(passed, "", text, flags=re.M)
    named = [path for found in re.findall(passed, text, flags=re.M) for path in re.findall(r"\b(?:\w+::)+\w+", found)]
    used = [path for path in named if re.search(rf"\b{path.split('::')[-1]}\b", rest)]
    return [path.split("::") for path in used + re.findall(r"\b(?:\w+::)+\w+", rest)]


def module(path, own, files):
    """The file that a path in the file `own` leads to, if it is one of `files`."""
    base = list(own)
    if path[0] == "crate":
        base = []
    elif path[0] not in ("self", "super") and (*own, path[0]) not in files:
        return None
    for name in path:
        if name == "super":
            base.pop()
        elif name not in ("crate", "self") and (*base, name) in files:
            base.append(name)
        elif name not in ("crate", "self"):
            break
    return tuple(base)


failed = False
for root in map(Path, ["kernels/src", "src", "zarrs/src", "pack/src", "cli/src", "python/src"]):
    sources = {file.relative_to(root).with_suffix("").parts: file.read_text() for file in sorted(root.rglob("*.rs"))}
    sources = {name[:-1] if name[-1] in ("lib", "main", "mod") else name: text for name, text in sources.items()}
    files = {own: {module(path, own, sources) for path in paths(text)} - {own, None} for own, text in sources.items()}
    folders = {}
    for own, targets in files.items():
        folders.setdefault(own[:1], set()).update({target[:1] for target in targets if own and target} - {own[:1]})
    count = sum(map(len, files.values()))
    assert count > len(files), f"{root}: only {count} imports were found, so this script is broken"
    for what, graph in [("files", files), ("folders", folders)]:
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            failed = True
            circle = " <- ".join("::".join(name) or "the crate" for name in error.args[1])
            print(f"{root}: {what} import one another in a circle: {circle}")
    print(f"{root}: {len(files)} files, {count} imports between them")
sys.exit(failed)
PYTHON
