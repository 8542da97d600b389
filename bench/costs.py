#!/usr/bin/env python3
"""What each kind of work costs a database: rows of its log, bytes, commits. `make costs` runs this beside a private PostgreSQL.

Every figure is the difference between a larger and a smaller load of `rhythm bench`, divided by what the larger one did more: what
opening, the schema and warming up cost is in both. Prints a Markdown table.
"""

import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

RHYTHM = pathlib.Path("target/release/rhythm").resolve()
SERVER = os.environ.get("RHYTHM_TEST_POSTGRES")

# Name; arguments of the smaller and of the larger load; difference in work; other kinds included in the
# difference.
STEP = "a step"
KINDS = [
    (STEP, ["w1", "--runs", "2000", "--steps", "1"], ["w1", "--runs", "2000", "--steps", "11"], 20_000, None),
    (
        "a run's start and end, beside its steps",
        ["w1", "--runs", "2000", "--steps", "1"],
        ["w1", "--runs", "6000", "--steps", "1"],
        4_000,
        STEP,
    ),
    (
        "a task of its own: enqueued, claimed, finished",
        ["w5", "--tasks", "10000"],
        ["w5", "--tasks", "30000"],
        20_000,
        None,
    ),
    ("a task of a fan-out, with its join", ["w4", "--tasks", "1000", "--samples", "5"], ["w4", "--tasks", "3000", "--samples", "5"], 10_000, None),
]


def bench(world, load, folder):
    command = [RHYTHM, "bench", *load, "--world", world, "--raw-ms", "1", "--quiet", "--output", "json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)


def postgres(load):
    """Records and bytes of the write-ahead log, and transactions that wrote, of the whole server, which does nothing else."""

    def look():
        query = (
            "SELECT wal_records, wal_bytes, pg_snapshot_xmax(pg_current_snapshot()), wal_fpi FROM pg_stat_wal"
        )
        answer = subprocess.run(["psql", "-XAtd", SERVER, "-c", query], check=True, capture_output=True, text=True)
        return [float(figure) for figure in answer.stdout.split("|")]

    def counted():
        """Sessions tell what they did a moment after it, so it is looked at until nothing is added any more."""
        last, seen = look(), None
        while last != seen:
            time.sleep(1)
            seen, last = last, look()
        return last

    before = counted()
    bench(SERVER, load, ".")
    return [after - first for after, first in zip(counted(), before)]


class OldSnapshot(threading.Thread):
    """Keeps the log of the database in this folder from being begun again, so that its length is what was written."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.over, self.longest = folder, threading.Event(), 0

    def run(self):
        reader = None
        while not self.over.is_set():
            # The benchmark creates and removes the folder while this thread runs.
            try:
                for log in self.folder.glob("**/bench.db-wal"):
                    self.longest = max(self.longest, log.stat().st_size)
                    if reader is None:
                        reader = sqlite3.connect(str(log)[: -len("-wal")], isolation_level=None)
                        reader.execute("BEGIN")
                        reader.execute("SELECT count(*) FROM live_run").fetchone()
            except (OSError, sqlite3.Error):
                reader = None
            time.sleep(0.001)


def sqlite(load):
    """Pages and bytes of the log."""
    with tempfile.TemporaryDirectory(dir="target") as folder:
        folder = pathlib.Path(folder).resolve()
        snapshot = OldSnapshot(folder)
        snapshot.start()
        bench("sqlite:x.db", load, folder)
        snapshot.over.set()
        snapshot.join()
    frame = 4096 + 24
    return [snapshot.longest / frame, snapshot.longest]


def table(name, columns, count):
    print(f"\n| {name} | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
    known = {}
    for kind, less, more, times, beside in KINDS:
        print(f"costs: {name}, {kind}", file=sys.stderr)
        small, large = count(less), count(more)
        each = [(much - little) / times for much, little in zip(large, small)]
        if beside:
            each = [figure - part for figure, part in zip(each, known[beside])]
        known[kind] = each
        print(f"| {kind} | " + " | ".join(f"{figure:.3g}" for figure in each) + " |", flush=True)


def main():
    table("SQLite", ["pages of the log", "bytes of the log"], sqlite)
    if SERVER:
        table("PostgreSQL", ["records of the log", "bytes of the log", "transactions", "full pages"], postgres)


if __name__ == "__main__":
    main()
