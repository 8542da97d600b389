// W1 to W5 on a Restate server. Prints one JSON object a line, and progress on standard error.
//
//   node restate_bench.mjs INGRESS_URL ADMIN_URL [--quick] [--at-once N]
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { connect } from "@restatedev/restate-sdk-clients";

// Batch size, the same as one call of `rhythm bench` enqueues.
const CALL = 100;
// As in `rhythm bench`: long enough for a worker to become idle.
const PAUSE_MS = 10;
// When nothing has moved for this long, the missing work counts as lost.
const STALLED_MS = 60_000;
const READY_MS = 60_000;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, "at-once": { type: "string", default: "200" } },
});
const [ingress, admin] = positionals;
// Concurrent runs (W1) or tasks (W5). `rhythm bench` has 1,000 concurrent tasks, which need not suit other
// engines.
const AT_ONCE = Number(options["at-once"]);
if (!(Number.isInteger(AT_ONCE) && AT_ONCE >= CALL)) throw new Error(`--at-once: a number from ${CALL} on`);
const SENDERS = Math.floor(AT_ONCE / CALL);
const client = connect({ url: ingress });
const peers = client.serviceClient({ name: "peers" });

// Written by the handlers. No workload has more executions than there are entries in `moments`.
const executions = new Int32Array(new SharedArrayBuffer(4));
const moments = new BigInt64Array(new SharedArrayBuffer(8 * 100_000));

const now = () => process.hrtime.bigint();
const millis = (from, to) => Number(to - from) / 1e6;
const entered = () => Atomics.load(executions, 0);
const forget = () => Atomics.store(executions, 0, 0);
const beyond = (expected) => Math.max(0, entered() - expected);
const range = (length) => Array.from({ length }, (_, number) => number);

// Percentile by nearest rank: always a time that was measured.
const nearest = (times, share) => times.toSorted((a, b) => a - b)[Math.ceil(times.length * share) - 1];

// Calls `work` with 0 to `count` - 1, at most `atOnce` concurrently; a failed call gives null.
async function each(count, atOnce, work) {
  const results = [];
  let next = 0;
  const one = async () => {
    while (next < count) {
      const number = next++;
      results[number] = await work(number).catch(() => null);
    }
  };
  await Promise.all(range(atOnce).map(one));
  return results;
}

const w1 = async ({ runs, steps }) => {
  forget();
  const began = now();
  const outputs = await each(runs, AT_ONCE, () => peers.steps({ steps }));
  const wall = millis(began, now()) / 1e3;
  return {
    per_s: (runs * steps) / wall,
    wall_s: wall,
    lost: outputs.filter((output) => output !== steps).length,
    repeated: beyond(runs * steps),
    detail: { calls_at_once: AT_ONCE },
  };
};

const w2 = async ({ runs, steps }) => {
  const hops = [];
  const began = now();
  let [lost, repeated] = [0, 0];
  for (let run = 0; run < runs; run++) {
    forget();
    lost += (await peers.steps({ steps })) !== steps;
    repeated += beyond(steps);
    for (let step = 1; step < steps; step++) hops.push(millis(moments[step - 1], moments[step]));
  }
  return { ...latencies(hops), wall_s: millis(began, now()) / 1e3, lost, repeated };
};

const w3 = async ({ samples }) => {
  const times = [];
  const began = now();
  let [lost, repeated] = [0, 0];
  for (let sample = 0; sample < samples; sample++) {
    forget();
    const called = now();
    lost += (await peers.steps({ steps: 1 })) !== 1;
    repeated += beyond(1);
    times.push(millis(called, moments[0]));
    await sleep(PAUSE_MS);
  }
  return { ...latencies(times), wall_s: millis(began, now()) / 1e3, lost, repeated };
};

const w4 = async ({ tasks, samples }) => {
  const times = [];
  const right = JSON.stringify(range(tasks));
  let [lost, repeated] = [0, 0];
  for (let sample = 0; sample < samples; sample++) {
    forget();
    const called = now();
    const output = await peers.fanOut({ tasks });
    times.push(millis(called, now()));
    lost += JSON.stringify(output) !== right;
    repeated += beyond(tasks);
  }
  const wall = nearest(times, 0.5) / 1e3;
  return { ...latencies(times), per_s: tasks / wall, wall_s: wall, lost, repeated };
};

const w5 = async ({ tasks }) => {
  forget();
  const began = now();
  await each(Math.ceil(tasks / CALL), SENDERS, (call) =>
    peers.enqueue({ from: call * CALL, to: Math.min(tasks, (call + 1) * CALL) }),
  );
  const enqueued = now();
  await untilEnded(tasks);
  const wall = millis(began, now()) / 1e3;
  return {
    per_s: tasks / wall,
    wall_s: wall,
    lost: tasks - (await rightTasks(tasks)),
    repeated: beyond(tasks),
    detail: { calls_at_once: SENDERS, enqueued_after_s: millis(began, enqueued) / 1e3 },
  };
};

const latencies = (times) => ({ p50_ms: nearest(times, 0.5), p99_ms: nearest(times, 0.99) });

// Queries to the server cost it time, so they are made only after the handlers have finished.
async function untilEnded(expected) {
  let [seen, since] = [0, now()];
  while (entered() < expected || (await openTasks()) > 0) {
    if (entered() !== seen) [seen, since] = [entered(), now()];
    else if (millis(since, now()) > STALLED_MS) return;
    await sleep(2);
  }
}

const TASKS = "FROM sys_invocation WHERE target_service_name = 'peers' AND target_handler_name = 'task'";

async function openTasks() {
  const [row] = await query(`SELECT count(*) AS open ${TASKS} AND status <> 'completed'`);
  return row.open;
}

// Every task returns its own number, so the outputs on the server must contain each number.
async function rightTasks(tasks) {
  const rows = await query(`SELECT id ${TASKS}`);
  const outputs = await each(rows.length, AT_ONCE, async (row) => {
    const answer = await fetch(`${ingress}/restate/invocation/${rows[row].id}/output`);
    return answer.ok ? (await answer.json()).step : null;
  });
  const distinct = new Set(outputs);
  return range(tasks).filter((number) => distinct.has(number)).length;
}

async function query(text) {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const answer = await fetch(`${admin}/query`, { method: "POST", headers, body: JSON.stringify({ query: text }) });
  if (!answer.ok) throw new Error(`the server does not answer a query: ${await answer.text()}`);
  return (await answer.json()).rows;
}

async function untilReady() {
  const began = now();
  const healthy = async (url) => (await fetch(url).catch(() => ({ ok: false }))).ok;
  while (!((await healthy(`${admin}/health`)) && (await healthy(`${ingress}/restate/health`)))) {
    if (millis(began, now()) > READY_MS) throw new Error("the server does not become ready");
    await sleep(100);
  }
}

async function serveHandlers() {
  const worker = new Worker(new URL("restate_handlers.mjs", import.meta.url), { workerData: { executions, moments } });
  const port = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ uri: `http://127.0.0.1:${port}` });
  const answer = await fetch(`${admin}/deployments`, { method: "POST", headers, body });
  if (!answer.ok) throw new Error(`the server does not take the handlers: ${await answer.text()}`);
}

const read = async (name) => JSON.parse(await readFile(new URL(name, import.meta.url)));
const versions = (await read("package.json")).dependencies;
const sizes = (await read("sizes.json"))[options.quick ? "quick" : "full"];
const node = process.versions.node.split(".")[0];

await untilReady();
await serveHandlers();
// All connections exist before the measurement starts.
await each(AT_ONCE, AT_ONCE, () => peers.steps({ steps: 1 }));

for (const [workload, measure] of Object.entries({ w1, w2, w3, w4, w5 })) {
  const size = sizes[workload];
  const words = Object.entries(size).map(([what, count]) => `${count} ${what}`);
  console.error(`restate ${workload}: ${words.join(", ")}`);
  const { detail, ...measured } = await measure(size);
  const row = {
    engine: "Restate",
    version: versions["@restatedev/restate-server"],
    language: `Node ${node}, one handler thread`,
    workload,
    world: "own log",
    per_s: null,
    p50_ms: null,
    p99_ms: null,
    ...measured,
    detail: { ...size, ...detail },
  };
  console.log(JSON.stringify(row));
}
process.exit(0);
