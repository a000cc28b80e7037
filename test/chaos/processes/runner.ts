// A process of the chaos run: it works on sessions and serves its clients' requests until it is killed.
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";

import { createLog, Runner, StoreFailure, systemClock } from "@holdfast/engine";
import { ids } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";
import { openSpillFolder } from "@holdfast/store/spill";

import { scriptedTurns, toolsWithEffects } from "./scripted-agent.ts";
import { serveRequest } from "./serve-request.ts";
import { type RunnerRequest, leaseMs, type RunnerOptions, type RunnerMessage } from "./protocol.ts";
import { recordingStore } from "./recording-store.ts";
import { uncachedAgents } from "@holdfast/testing/fakes/uncached-agents";
import { seededRandom } from "@holdfast/testing/simulator/scheduler";
import { writeLine } from "../write-line.ts";
import { openStore } from "../store/protocol.ts";

const report = (message: RunnerMessage): void => writeLine(message);
const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
const first = await lines.next();
const startupMessage = JSON.parse(first.value ?? "") as RunnerOptions;
const { backend, target, owner, name, effects, spill, seed } = startupMessage;

function tellError(error: unknown): void {
  const code = error instanceof StoreFailure ? error.code : null;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  report({ word: "error", code, text });
}

const opened = await openStore(backend, target);
const store = recordingStore(opened, owner, report);
const log = createLog(store);
const journals = await openSpillFolder(spill);
await journals.reserve();
const tools = toolsWithEffects(effects, name, seededRandom(seed));
const holder = () => currentHolder("chaos");
const runner = new Runner({
  log,
  ids,
  clock: systemClock,
  random: Math.random,
  work: store.work,
  liveness: createLiveness(),
  holder,
  leaseMs,
  policy: "resume",
  sweepMs: leaseMs / 6,
  maxRuns: 100,
  limits: { steps: 20, timeMs: 60_000, modelTries: 3 },
  agents: uncachedAgents({
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    modelFor: async () => ({ name: "scripted", model: scriptedTurns(name) }),
    system: async () => "You are being tested.",
  }),
  spills: journals,
  onError: tellError,
});
runner.start();
process.once("SIGTERM", () => void leave().catch(tellError));
// A killed process doesn't write its compile cache, so do that now.
flushCompileCache();
report({ word: "ready" });

async function runErrand({ number, request }: RunnerRequest): Promise<void> {
  const answer = await serveRequest({ log, ids, runner, holder }, owner, request);
  report({ word: "answer", number, answer });
}

async function leave(): Promise<void> {
  await runner.stop();
  await opened.close();
  process.exit(0);
}

// The parent holds the other end: when it is gone, this process ends.
for await (const line of lines) void runErrand(JSON.parse(line) as RunnerRequest).catch(tellError);
process.exit(1);
