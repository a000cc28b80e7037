import type { SessionId } from "@holdfast/protocol";
import { says, scriptedModel, uses } from "@holdfast/testing/fakes/scripted-model";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { until } from "@holdfast/testing/rigs/run-rig";
import { expect, onTestFinished, test } from "vitest";
import { createEngine, type EngineSettings } from "../create-engine.ts";
import type { Summariser } from "../ports/background-models.ts";
import type { Store } from "../ports/store.ts";

const limits = { steps: 100, timeMs: 60_000, modelTries: 1 };

function start(store: Store, settings: EngineSettings = {}) {
  const model = scriptedModel(() => [...says("Yes."), uses({ costMicros: 10 })]);
  const engine = createEngine({ store, model, limits, ...settings });
  onTestFinished(() => engine.stop());
  return engine;
}

/** A session that fills most of a window of a thousand tokens. */
async function fillSession(store: Store): Promise<SessionId> {
  const engine = start(store);
  const session = await engine.open("a conversation");
  for (const text of ["one", "two", "three", "four", "five"]) {
    const sent = await engine.send({ session, text: `${text} ${"word ".repeat(100)}` });
    if (sent.status !== "accepted") throw new Error(sent.message);
    for await (const _ of engine.answer(sent));
  }
  await engine.stop();
  return session;
}

const whenIdle = { restMs: 1, fullShare: 0.5 };

const compaction = (summarise: Summariser["summarise"]): EngineSettings => ({
  compaction: { summariser: { summarise }, windowOf: () => 1_000, whenIdle },
});

test("a message to an idle session whose summary is being written aborts the summary", async () => {
  const store = createReferenceStore();
  const session = await fillSession(store);
  const signals: AbortSignal[] = [];
  const engine = start(
    store,
    compaction(async (_request, signal) => {
      signals.push(signal);
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return { status: "failed", code: "aborted", message: "" };
    }),
  );
  await until(() => signals.length === 1);
  const sent = await engine.send({ session, text: "Are you there?" });
  expect(sent.status).toBe("accepted");
  await until(() => signals[0]?.aborted === true);
});

test("an engine past its daily limit asks no model to summarise an idle session", async () => {
  const store = createReferenceStore();
  await fillSession(store);
  const asked: string[] = [];
  const summarising = compaction(async ({ session }) => {
    asked.push(session);
    return { status: "summarised", text: "In short." };
  });
  let looks = 0;
  const watched: Store = Object.create(store, {
    reads: {
      value: {
        ...store.reads,
        async usage(...query: Parameters<Store["reads"]["usage"]>) {
          const usage = await store.reads.usage(...query);
          looks += 1;
          return usage;
        },
      },
    },
  }) as Store;
  const limited = start(watched, { ...summarising, limits: { ...limits, costMicrosPerDay: 50 } });
  await until(() => looks >= 2);
  await limited.stop();
  expect(asked).toEqual([]);
  start(store, { ...summarising, limits: { ...limits, costMicrosPerDay: 51 } });
  await until(() => asked.length === 1);
});
