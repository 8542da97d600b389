"""merge_rows.py PEERS_JSON ROWS...: puts rows (a JSON object a line) into a list of them.

An engine with new rows loses its old ones, also those of other versions; the rows of other engines stay. Of what was
tried in several ways only the best row is kept.
"""

import json
import sys
from datetime import date
from pathlib import Path

KEYS = "engine version language workload world per_s p50_ms p99_ms wall_s lost repeated detail".split()


def rounded(figure):
    """Six digits are more than any measurement is worth, and leave a file that people can read."""
    return float(f"{figure:.6g}") if isinstance(figure, float) else figure


def tidy(row):
    row = {key: row[key] for key in KEYS}
    detail = {name: rounded(figure) for name, figure in row["detail"].items()}
    row["detail"] = detail | {"measured": date.today().isoformat()}
    return {key: rounded(value) for key, value in row.items()}


def better(row):
    """A rate where there is one, otherwise a latency; what lost anything is worse than anything."""
    figure = row["per_s"] if row["per_s"] is not None else -row["p50_ms"]
    return (-row["lost"], figure)


def best_of(rows):
    best = {}
    for row in rows:
        key = (row["engine"], row["workload"])
        best[key] = max(best.get(key, row), row, key=better)
    return list(best.values())


def main():
    peers, *files = map(Path, sys.argv[1:])
    new = best_of(tidy(json.loads(line)) for file in files for line in file.read_text().splitlines())
    measured = {row["engine"] for row in new}
    old = json.loads(peers.read_text()) if peers.exists() else []
    rows = [row for row in old if row["engine"] not in measured] + new
    rows.sort(key=lambda row: row["engine"])
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    # Written to another file and renamed, so that a reader never sees half of it.
    unfinished = peers.with_suffix(".new")
    unfinished.write_text(f"[\n{lines}\n]\n")
    unfinished.replace(peers)


if __name__ == "__main__":
    main()
