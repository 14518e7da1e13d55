#!/bin/bash
# Fails when modules of zarrs/, pack/ or cli/ import one another in a circle: between files, or between the folders
# right below src/. A file that declares a module does not import it; one that names a path in it does.
set -euo pipefail
cd "$(dirname "$0")/.."
exec python3 - "$@" <<'PYTHON'
import re
import sys
from pathlib import Path

CRATES = ["pack/src", "cli/src", "zarrs/src"]


def without_comments(text):
    """The text without comments and strings, which may hold anything."""
    pattern = r'//[^\n]*|/\*.*?\*/|r#".*?"#|"(?:\\.|[^"\\])*"|' + r"'(?:\\.|[^'\\])'"
    return re.sub(pattern, " ", text, flags=re.S)


def body(text, start):
    """The end of the block whose opening brace is at `start`."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return len(text)


def inline_modules(text, module):
    """The text outside modules written inside a file, and inside each of them, with their paths."""
    parts, outside, at = [], "", 0
    for match in re.finditer(r"(#\[cfg\(test\)\]\s*)?\bmod\s+(\$?\w+)\s*\{", text):
        if match.start() < at:
            continue
        end = body(text, match.end() - 1)
        outside += text[at : match.start()]
        at = end + 1
        if match[1] is None:
            parts += inline_modules(text[match.end() : end], [*module, match[2]])
    return [(outside + text[at:], module), *parts]


def use_paths(tree, prefix=()):
    """The paths that a use tree names."""
    tree = tree.strip()
    if "{" not in tree:
        yield [*prefix, *(part.split(" as ")[0].strip() for part in tree.split("::"))]
        return
    head, rest = tree.split("{", 1)
    inside = rest[: body("{" + rest, 0) - 1]
    start = [*prefix, *(part.strip() for part in head.split("::") if part.strip())]
    depth, item = 0, ""
    for character in inside + ",":
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            if item.strip():
                yield from use_paths(item, start)
            item = ""
        else:
            item += character


def imports(root):
    """For each file the files whose modules it names."""
    files = {}
    for path in sorted(root.rglob("*.rs")):
        parts = list(path.relative_to(root).with_suffix("").parts)
        if parts[-1] in ("lib", "main", "mod"):
            parts.pop()
        files[tuple(parts)] = path
    edges = {module: {} for module in files}

    def resolve(path, module):
        if path[0] == "crate":
            path = path[1:]
        elif path[0] in ("self", "super"):
            base = list(module)
            while path and path[0] in ("self", "super"):
                if path[0] == "super":
                    base = base[:-1]
                path = path[1:]
            path = base + path
        elif (*module, path[0]) in files:
            path = [*module, *path]
        else:
            return None
        while tuple(path) not in files:
            path = path[:-1]
        return tuple(path)

    for own, file in files.items():
        for text, module in inline_modules(without_comments(file.read_text()), list(own)):
            paths = []
            for match in re.finditer(r"\buse\s+([^;]+);", text):
                paths += use_paths(match[1])
            code = re.sub(r"\buse\s+[^;]+;", " ", text)
            paths += [m[0].split("::") for m in re.finditer(r"\b(?:\w+::)+\w+", code)]
            for path in paths:
                target = resolve(path, module)
                if target is not None and target != own:
                    edges[own].setdefault(target, "::".join(path))
    return files, edges


def circle(edges):
    """One circle in a graph, as the nodes along it."""
    done, stack = set(), []

    def visit(node):
        if node in stack:
            return stack[stack.index(node) :] + [node]
        if node in done:
            return None
        stack.append(node)
        for target in sorted(edges.get(node, ())):
            if found := visit(target):
                return found
        done.add(stack.pop())
        return None

    for node in sorted(edges):
        if found := visit(node):
            return found
    return None


failed = False
for crate in CRATES:
    files, edges = imports(Path(crate))
    folders = {}
    for module, targets in edges.items():
        for target in targets:
            if module and target and module[0] != target[0]:
                folders.setdefault(module[:1], set()).add(target[:1])
    count = sum(len(targets) for targets in edges.values())
    assert count > len(files), f"{crate}: only {count} imports were found, so this script is broken"
    for what, graph in [("files", edges), ("folders", folders)]:
        if found := circle(graph):
            failed = True
            print(f"{crate}: {what} import one another in a circle:")
            for a, b in zip(found, found[1:]):
                how = f" ({edges[a][b]})" if what == "files" else ""
                print(f"  {'::'.join(a) or 'the crate'} -> {'::'.join(b) or 'the crate'}{how}")
    print(f"{crate}: {len(files)} files, {count} imports between them")
sys.exit(failed)
PYTHON
