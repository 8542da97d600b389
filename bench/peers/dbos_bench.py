"""W1 to W5 on DBOS: prints a JSON object a line, tells on standard error what it does.

Workflows and steps run in this process, as the handlers of `rhythm bench` do in its own. The url of a durable
PostgreSQL is in RHYTHM_TEST_POSTGRES.
"""

import asyncio
import json
import math
import multiprocessing
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path

import sqlalchemy
from dbos import DBOS, DBOSClient

NAME = "peers"
QUEUE = "work"
# Concurrent workflows. Python runs one thread at a time; during that time the commits of other threads
# proceed.
THREADS = int(sys.argv[sys.argv.index("--threads") + 1]) if "--threads" in sys.argv else 32
# A connection for every thread, and some for DBOS's own threads; with the default of 20, steps would queue.
CONNECTIONS = THREADS + 8
# A worker takes all waiting tasks at each poll, so this only decides how late it notices them. The default of
# a second would count in short measurements; polling much more often would take time from the work.
LOOK_SECONDS = 0.1
# Batch size; `rhythm bench` starts or enqueues the same number with one call.
CALL = 100
# Concurrent batches. Each workflow is a statement of its own, so one connection would mostly wait for
# answers.
SENDERS = 10
# As in `rhythm bench`: long enough for a worker to become idle.
PAUSE_SECONDS = 0.01
# When nothing has moved for this long, the missing work counts as lost.
STALLED_SECONDS = 60

# Times at which the bodies were entered; the length of the list is the number of executions.
moments = []


def enter(given):
    moments.append(time.perf_counter())
    return given


@DBOS.step()
def noop(given):
    return enter(given)


@DBOS.step()
async def noop_async(given):
    return enter(given)


@DBOS.workflow()
def steps_run(steps):
    """Only the right answers lead to the right output."""
    done = 0
    while done < steps:
        done = noop({"step": done})["step"] + 1
    return done


@DBOS.workflow()
async def fan_out_run(tasks):
    """Parallel steps are the leanest fan-out DBOS has: child workflows on a queue write more."""
    answers = await asyncio.gather(*[noop_async({"number": number}) for number in range(tasks)])
    return [answer["number"] for answer in answers]


@DBOS.workflow()
def task(given):
    """A queue holds workflows. This one has no step, for which it would write twice."""
    return enter(given)


def database_url():
    url = sqlalchemy.make_url(os.environ["RHYTHM_TEST_POSTGRES"])
    return url.set(drivername="postgresql+psycopg", database=NAME)


def refuse_volatile_database():
    engine = sqlalchemy.create_engine(database_url().set(database="postgres"))
    with engine.connect() as connection:
        for setting in ["fsync", "synchronous_commit", "full_page_writes"]:
            if connection.execute(sqlalchemy.text(f"SHOW {setting}")).scalar() != "on":
                sys.exit(f"dbos: {setting} is not on, so this PostgreSQL is not durable")
    engine.dispose()


def enqueue_jobs(jobs):
    """Another process, so that enqueueing does not fight for the interpreter lock with the work."""
    url = database_url()
    client = DBOSClient(system_database_url=url.render_as_string(hide_password=False), application_name=NAME)
    engine = sqlalchemy.create_engine(url, pool_size=SENDERS)

    def enqueue(workflow, inputs):
        options = {"workflow_name": workflow, "queue_name": QUEUE}
        # There is no call for a batch, but several calls can share a transaction, and so a commit.
        with engine.begin() as transaction:
            handles = [client.enqueue_in_transaction(transaction, options, given) for given in inputs]
        return [handle.get_workflow_id() for handle in handles]

    with ThreadPoolExecutor(SENDERS) as senders:
        while True:
            try:
                workflow, inputs = jobs.recv()
            except EOFError:
                return
            batches = [inputs[start : start + CALL] for start in range(0, len(inputs), CALL)]
            ids = [id for batch in senders.map(partial(enqueue, workflow), batches) for id in batch]
            jobs.send((ids, time.perf_counter()))


def start_enqueuer():
    processes = multiprocessing.get_context("spawn")
    ours, theirs = processes.Pipe()
    processes.Process(target=enqueue_jobs, args=[theirs], daemon=True).start()
    theirs.close()
    return ours


def until_ended(executions):
    """Asking the database costs it something: only when the bodies are through."""
    seen, since = 0, time.monotonic()
    while len(moments) < executions or has_open_workflows():
        if len(moments) != seen:
            seen, since = len(moments), time.monotonic()
        elif time.monotonic() - since > STALLED_SECONDS:
            return
        time.sleep(0.005)


def has_open_workflows():
    open_ones = ["ENQUEUED", "PENDING"]
    return bool(DBOS.list_workflows(status=open_ones, limit=1, load_input=False, load_output=False))


def lost(expected):
    """How many workflows did not come to their output, by what the database says. `expected`: output by id."""
    ids, right = list(expected), 0
    for start in range(0, len(ids), 1000):
        for run in DBOS.list_workflows(workflow_ids=ids[start : start + 1000], load_input=False):
            right += run.status == "SUCCESS" and run.output == expected[run.workflow_id]
    return len(ids) - right


def queued(enqueuer, workflow, inputs, outputs, executions):
    moments.clear()
    began = time.perf_counter()
    enqueuer.send((workflow.__name__, inputs))
    until_ended(executions)
    wall = time.perf_counter() - began
    ids, enqueued = enqueuer.recv()
    return {
        "per_s": executions / wall,
        "wall_s": wall,
        "lost": lost(dict(zip(ids, outputs, strict=True))),
        "repeated": max(0, len(moments) - executions),
        "detail": {"enqueued_after_s": enqueued - began},
    }


def w1(enqueuer, runs, steps):
    """Through the queue, where a hundred runs start with one commit: started one by one, each takes its own."""
    return queued(enqueuer, steps_run, [steps] * runs, [steps] * runs, runs * steps)


def w5(enqueuer, tasks):
    inputs = [{"step": number} for number in range(tasks)]
    return queued(enqueuer, task, inputs, inputs, tasks)


def w2(_enqueuer, runs, steps):
    moments.clear()
    ids, hops, began = [], [], time.perf_counter()
    for _ in range(runs):
        first = len(moments)
        handle = DBOS.start_workflow(steps_run, steps)
        handle.get_result()
        ids.append(handle.get_workflow_id())
        entered = moments[first:]
        hops += [after - before for before, after in zip(entered, entered[1:])]
    return latencies(hops, began, dict.fromkeys(ids, steps), runs * steps)


def w3(_enqueuer, samples):
    moments.clear()
    ids, times, began = [], [], time.perf_counter()
    for _ in range(samples):
        first, called = len(moments), time.perf_counter()
        handle = DBOS.start_workflow(steps_run, 1)
        handle.get_result()
        ids.append(handle.get_workflow_id())
        times.append(moments[first] - called)
        time.sleep(PAUSE_SECONDS)
    return latencies(times, began, dict.fromkeys(ids, 1), samples)


def w4(_enqueuer, tasks, samples):
    moments.clear()
    ids, times, began = [], [], time.perf_counter()
    for _ in range(samples):
        called = time.perf_counter()
        handle = DBOS.start_workflow(fan_out_run, tasks)
        handle.get_result()
        times.append(time.perf_counter() - called)
        ids.append(handle.get_workflow_id())
    expected = dict.fromkeys(ids, list(range(tasks)))
    median = statistics.median_low(times)
    return latencies(times, began, expected, tasks * samples) | {"per_s": tasks / median, "wall_s": median}


def latencies(times, began, expected, executions):
    wall = time.perf_counter() - began
    return {
        "p50_ms": nearest(times, 0.50) * 1e3,
        "p99_ms": nearest(times, 0.99) * 1e3,
        "wall_s": wall,
        "lost": lost(expected),
        "repeated": max(0, len(moments) - executions),
    }


def nearest(times, share):
    """The nearest rank: always a time that was measured."""
    return sorted(times)[math.ceil(len(times) * share) - 1]


def main():
    sizes = json.loads(Path(__file__).with_name("sizes.json").read_text())
    sizes = sizes["quick" if "--quick" in sys.argv[1:] else "full"]
    refuse_volatile_database()
    DBOS(
        config={
            "name": NAME,
            "system_database_url": database_url().render_as_string(hide_password=False),
            "sys_db_pool_size": CONNECTIONS,
            "max_executor_threads": THREADS,
            "log_level": "WARNING",
        }
    )
    DBOS.launch()
    # Without limits on the queue the threads are the limit, and no worker waits for a poll to fill a free
    # slot.
    DBOS.register_queue(QUEUE, polling_interval_sec=LOOK_SECONDS)
    enqueuer = start_enqueuer()
    # All connections and threads exist before the measurement starts.
    queued(enqueuer, steps_run, [1] * THREADS, [1] * THREADS, THREADS)

    for workload in [w1, w2, w3, w4, w5]:
        name = workload.__name__
        size = sizes[name]
        print(f"dbos {name}: {', '.join(f'{count} {what}' for what, count in size.items())}", file=sys.stderr)
        python = ".".join(map(str, sys.version_info[:2]))
        measured = workload(enqueuer, **size)
        row = {
            "engine": "DBOS",
            "version": version("dbos"),
            "language": f"Python {python}, one worker process",
            "workload": name,
            "world": "postgres",
            **dict.fromkeys(["per_s", "p50_ms", "p99_ms"]),
            **measured,
            "detail": size | measured.get("detail", {}) | {"threads": THREADS},
        }
        print(json.dumps(row), flush=True)
    DBOS.destroy()


if __name__ == "__main__":
    main()
