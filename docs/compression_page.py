"""Makes the tables and the picture of docs/compression.md from docs/compression.jsonl and docs/requirements.jsonl, which
compression.py and requirements.py measure.

    python docs/compression_page.py --write | --check

--check compares instead, and ends with 1 if they differ. Needs NumPy, which figures.py loads.
"""

import html
import json
import math
import pathlib
import sys

import figures

FOLDER = pathlib.Path(__file__).resolve().parent
RESULTS, PAGE, PICTURE = (FOLDER / f"compression.{end}" for end in ("jsonl", "md", "svg"))
REQUIREMENTS = FOLDER / "requirements.jsonl"

# Whom the others are compared with: the first that was measured.
OURS = ["recast smallest", "recast auto", "recast zstd:5"]


def geometric_mean(numbers):
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def present(rows):
    """The methods, in the order in which they were measured."""
    return list(dict.fromkeys(row["method"] for row in rows))


def place(row):
    return row["array"], row["fraction"]


def by_place(rows, method):
    """The rows of a method that keep the bound."""
    return {place(row): row for row in rows if row["method"] == method and row["kept"]}


def ratios(rows, other, ours):
    """Sizes of the other over ours, wherever both keep the bound."""
    others, mine = by_place(rows, other), by_place(rows, ours)
    return {where: others[where]["bytes"] / mine[where]["bytes"] for where in mine if where in others}


def where_text(where):
    return f"{where[0]} at {where[1]:g}"


def first_of_each_source(rows):
    """One array of each source, so that a source with many has no more weight than the others."""
    first = {}
    for row in rows:
        first.setdefault(row["source"], row["array"])
    return set(first.values())


def summary(rows):
    """A row for each method."""
    methods = present(rows)
    ours, ones = next(name for name in OURS if name in methods), first_of_each_source(rows)
    places, fractions = {place(row) for row in rows}, sorted({row["fraction"] for row in rows}, reverse=True)
    heads = [f"times smaller at {fraction:g}" for fraction in fractions]
    heads += [f"size / {ours} (one array of each source)", f"rows smaller than {ours}", "packs, MB/s", "reads, MB/s", "rows"]
    yield f"| method | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 1) + "|"
    for method in methods:
        kept = by_place(rows, method)
        cells = []
        for fraction in fractions:
            here = [row["raw"] / row["bytes"] for row in kept.values() if row["fraction"] == fraction]
            cells.append(f"{geometric_mean(here):.2f}" if here else "–")
        found = ratios(rows, method, ours) if method != ours else {}
        smaller = {where: ratio for where, ratio in found.items() if ratio < 1}
        least = min(smaller, key=smaller.get) if smaller else None
        of_ones = [ratio for where, ratio in found.items() if where[0] in ones]
        cells.append(f"{geometric_mean(found.values()):.3f} ({geometric_mean(of_ones):.3f})" if found else "–")
        cells.append(f"{len(smaller)}, most at {where_text(least)}: {smaller[least]:.2f}" if least else f"{len(smaller)}")
        raw = sum(row["raw"] for row in kept.values())
        for key in ("pack_seconds", "read_seconds"):
            cells.append(f"{raw / 1e6 / sum(row[key] for row in kept.values()):.0f}")
        cells.append(f"{len(kept)} of {len(places)}")
        yield f"| {method} | {' | '.join(cells)} |"


def machine(about):
    libraries = ", ".join(f"{name} {version}" for name, version in about["libraries"].items())
    before, after = about["load"]
    yield (f"{about['date']}, {about['cpu']}, {about['cores']} cores, load {before} at the beginning and {after} at the end; "
           f"recast {about['recast']}, {libraries}.")
    if about["note"]:
        yield about["note"]


COLOURS = {
    "recast smallest": "#d62728", "recast auto": "#ff7f0e", "recast zstd:5": "#bc8f00", "pcodec": "#8c564b", "SZ3": "#1f77b4",
    "ZFP": "#2ca02c", "SPERR": "#17a2b8", "bit rounding": "#9467bd", "netCDF int16": "#e377c2",
}
PANEL_WIDTH, PANEL_HEIGHT, COLUMNS, LEFT_EDGE = 250, 170, 3, 1e-5


def panel(rows, name, x, y):
    """Bits per element against the largest error over the range, whose logarithm is the axis."""
    rows = [row for row in rows if row["array"] == name and row["kept"] and row["method"] in COLOURS]
    left, top, width, height = x + 30, y + 24, PANEL_WIDTH - 50, PANEL_HEIGHT - 54

    def bits(row):
        return 8 * row["bytes"] / row["elements"]

    most = max(map(bits, rows))

    def point(row):
        share = max(row["error"] / row["bound"] * row["fraction"], LEFT_EDGE)
        return (left + width * math.log10(share / LEFT_EDGE) / math.log10(1e-2 / LEFT_EDGE), top + height * (1 - bits(row) / most))

    yield f'<text x="{left}" y="{y + 16}" font-weight="bold">{html.escape(name)}</text>'
    yield f'<path d="M{left} {top}V{top + height}H{left + width}" fill="none" stroke="#777777"/>'
    yield f'<text x="{left - 4}" y="{top + 5}" text-anchor="end">{most:.1f}</text>'
    yield f'<text x="{left - 4}" y="{top + height}" text-anchor="end">0</text>'
    for exponent in range(-5, -1):
        middle = left + width * (exponent + 5) / 3
        yield f'<text x="{middle:.0f}" y="{top + height + 14}" text-anchor="middle">1e{exponent}</text>'
    for method, colour in COLOURS.items():
        points = [point(row) for row in rows if row["method"] == method]
        if points:
            path = "L".join(f"{across:.1f} {down:.1f}" for across, down in points)
            thick = 2.5 if method in OURS else 1.2
            yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{thick}"/>'
            for across, down in points:
                yield f'<circle cx="{across:.1f}" cy="{down:.1f}" r="{thick + 0.5:g}" fill="{colour}"/>'


def picture(rows):
    names = list(dict.fromkeys(row["array"] for row in rows))
    places = [(index % COLUMNS * PANEL_WIDTH, index // COLUMNS * PANEL_HEIGHT) for index in range(len(names) + 1)]
    whole_width, whole_height = COLUMNS * PANEL_WIDTH, places[-1][1] + PANEL_HEIGHT
    yield (f'<svg viewBox="0 0 {whole_width} {whole_height}" xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" '
           f'font-size="10" fill="#777777">')
    for name, (x, y) in zip(names, places):
        yield from panel(rows, name, x, y)
    x, y = places[-1]
    for line, method in enumerate(method for method in COLOURS if method in present(rows)):
        down = y + 24 + 14 * line
        yield f'<path d="M{x + 30} {down}h24" stroke="{COLOURS[method]}" stroke-width="{2.5 if method in OURS else 1.2}"/>'
        yield f'<text x="{x + 60}" y="{down + 4}">{method}</text>'
    yield "</svg>"


def rendered():
    """The page and the picture, as the results have them."""
    (about, *rows), (about_required, *required) = (
        map(json.loads, path.read_text().splitlines()) for path in (RESULTS, REQUIREMENTS)
    )
    text = PAGE.read_text()
    parts = {
        "machine": machine(about), "summary": summary(rows),
        "machine of requirements": machine(about_required), "summary of requirements": summary(required),
    }
    for name, lines in parts.items():
        text = figures.between(text, f"<!-- {name} -->\n", f"<!-- end of {name} -->\n", "\n".join(lines) + "\n")
    return {PAGE: text, PICTURE: "\n".join(picture(rows)) + "\n"}


def write():
    for path, text in rendered().items():
        path.write_text(text)


def main():
    assert sys.argv[1:] in (["--write"], ["--check"]), __doc__
    if sys.argv[1] == "--write":
        write()
        return
    stale = [path.name for path, text in rendered().items() if path.read_text() != text]
    if stale:
        sys.exit(f"{', '.join(stale)}: not what the results say; run `python docs/compression_page.py --write`")


if __name__ == "__main__":
    main()
