// The handlers of the Restate workloads, served from a thread of their own, apart from the caller's.
import { createServer } from "node:http2";
import { parentPort, workerData } from "node:worker_threads";

// The SDK uses this standard function, which Node has since version 22.
Promise.withResolvers ??= function () {
  let settle;
  const promise = new this((resolve, reject) => (settle = { resolve, reject }));
  return { promise, ...settle };
};
const restate = await import("@restatedev/restate-sdk");

// Shared with the measuring thread: number of bodies entered, and the time of each.
const { executions, moments } = workerData;

function enter(given) {
  const place = Atomics.add(executions, 0, 1);
  moments[place % moments.length] = process.hrtime.bigint();
  return given;
}

const peers = restate.service({
  name: "peers",
  handlers: {
    // The output is right only if every answer was right.
    steps: async (ctx, { steps }) => {
      let done = 0;
      while (done < steps) {
        const step = { step: done };
        done = (await ctx.run("noop", () => enter(step))).step + 1;
      }
      return done;
    },

    // Parallel steps are Restate's cheapest fan-out; calls of other handlers write more.
    fanOut: async (ctx, { tasks }) => {
      const steps = Array.from({ length: tasks }, (_, number) => ctx.run("noop", () => enter({ number })));
      const answers = await restate.RestatePromise.all(steps);
      return answers.map((answer) => answer.number);
    },

    // Starts many tasks with one call; the ingress itself has no such call.
    enqueue: async (ctx, { from, to }) => {
      const peers = ctx.serviceSendClient({ name: "peers" });
      for (let step = from; step < to; step++) peers.task({ step });
    },

    task: async (_, given) => enter(given),
  },
});

// Over HTTP/2 the server and a handler stream both ways, so that a step needs no request of its own.
const server = createServer(restate.createEndpointHandler({ services: [peers] }));
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
