/** Loaded into every thread of a host: notes which production files have run, whenever the parent asks. */
import { appendFileSync } from "node:fs";
import { Session } from "node:inspector";
import { fileURLToPath } from "node:url";
import {
  BroadcastChannel,
  getEnvironmentData,
  isMainThread,
  setEnvironmentData,
} from "node:worker_threads";

const output = `${process.env["CALL_PATH_OUTPUT"] ?? ""}${isMainThread ? "" : ".threads"}`;
const root = `${process.env["CALL_PATH_ROOT"] ?? ""}/`;
const key = "call-path-generation";
const shared = isMainThread
  ? new SharedArrayBuffer(4)
  : (getEnvironmentData(key) as unknown as SharedArrayBuffer);
if (isMainThread) setEnvironmentData(key, shared);
const generation = new Int32Array(shared);
let written = Atomics.load(generation, 0);

const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** Taking resets the counters, so each generation has only what ran since the one before. */
function write(): void {
  const now = Atomics.load(generation, 0);
  if (now === written) return;
  written = now;
  session.post("Profiler.takePreciseCoverage", (error, answer) => {
    if (error !== null) throw error;
    const files = answer.result
      .filter(({ functions }) =>
        functions.some(
          ({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0,
        ),
      )
      .flatMap(({ url }) => (url.startsWith("file:") ? fileURLToPath(url) : []))
      .filter((file) => file.startsWith(`${root}packages/`) && file.includes("/src/"))
      .map((file) => file.slice(root.length));
    appendFileSync(output, `${isMainThread ? "" : `${now} `}${files.join(" ")}\n`);
  });
}

const channel = new BroadcastChannel(key);
channel.unref();
if (isMainThread) {
  process.on("message", () => {
    Atomics.add(generation, 0, 1);
    write();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no target origin
    channel.postMessage("take");
    process.send?.("taken");
  });
} else {
  channel.addEventListener("message", write);
  const wait = Atomics.wait;
  // A thread that sleeps here hears no message: it writes when it wakes up, before it goes on.
  Atomics.wait = ((...args: Parameters<typeof wait>) => {
    write();
    const result = wait(...args);
    write();
    return result;
  }) as typeof wait;
}
