"""Writes the licence texts of all that the command `recast` links, for its binaries to ship.

    python .ci/licences.py FILE

Fails if a crate has a licence that deny.toml does not allow, or no text of one.
"""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXTS = re.compile(r"(licen[sc]e|copying|notice|unlicense|copyright)", re.IGNORECASE)


def is_allowed(expression, allowed):
    """Whether an SPDX expression can be met; `/` is how old crates write OR."""
    words = re.findall(r"\(|\)|[^\s()/]+", expression.replace("/", " OR "))
    names = {"(": "(", ")": ")", "OR": "or", "AND": "and"}
    terms, skipped = [], False
    for word in words:
        if skipped or word == "WITH":  # an exception only adds permissions
            skipped = word == "WITH"
            continue
        terms.append(names.get(word, str(word in allowed)))
    return eval(" ".join(terms), {"__builtins__": {}})  # only True, False, and, or, ( and )


def linked():
    """Ids of the crates that are linked into the command on one of the released systems, build scripts left out."""
    command = ["cargo", "tree", "--locked", "-p", "zarr-recast-cli", "--features", "object-store,pcodec", "--target", "all",
               "-e", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()
    return {tuple(line.split()[:2]) for line in lines if line}


def main():
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--all-features"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)["packages"]
    wanted, parts, problems = linked(), [], []
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        name = f"{package['name']} {package['version']}"
        if (package["name"], f"v{package['version']}") not in wanted or package["source"] is None:
            continue
        if not is_allowed(package["license"] or "", allowed):
            problems.append(f"{name}: the licence {package['license']} is not in deny.toml")
        folder = pathlib.Path(package["manifest_path"]).parent
        texts = sorted(file for file in folder.rglob("*") if file.is_file() and TEXTS.match(file.name)
                       and file.suffix.lower() not in {".rs", ".py", ".toml", ".html", ".sh"})
        body = "\n".join(f"--- {text.relative_to(folder)}\n\n{text.read_text(errors='replace').strip()}\n" for text in texts)
        body = body or "(The package has no text beside the name of its licence.)\n"
        parts.append(f"{'=' * 80}\n{name}, {package['license']}\n{package['repository'] or ''}\n\n{body}")
    assert len(parts) > 100, f"only {len(parts)} crates"
    if problems:
        sys.exit("\n".join(problems))
    pathlib.Path(sys.argv[1]).write_text("\n".join(parts))
    print(f"licences of {len(parts)} crates in {sys.argv[1]}")


if __name__ == "__main__":
    main()
