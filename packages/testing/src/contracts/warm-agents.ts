import {
  admitMessage,
  type Agent,
  AgentCache,
  type CachedContext,
  createLog,
  type ModelRequest,
  type Store,
  type Tool,
} from "@holdfast/engine";
import { ids, type LaneKey } from "@holdfast/protocol";

import { manualClock } from "../fakes/manual-clock.ts";
import { gate, type ScriptedReply, says, scriptedModel } from "../fakes/scripted-model.ts";
import { assertPresent, type TestSession } from "../fixtures/open-session.ts";
import { createRunner, type RigDeps } from "../rigs/run-rig.ts";

export interface WarmAgentOptions {
  readonly store: Store;
  readonly tools?: readonly Tool[];
  /** What the model does in its nth step, counted from 1; by default it says so. */
  readonly reply?: (step: number) => ScriptedReply;
  readonly deps?: RigDeps;
}

/** A runner with warm agents, and what its model was sent for each session. */
export function openWarmAgents({ store, tools = [], reply, deps = {} }: WarmAgentOptions) {
  const requests: ModelRequest[] = [];
  const log = createLog(store);
  const clock = manualClock();
  let [wait, building]: Promise<void>[] = [Promise.resolve(), Promise.resolve()];
  let memory: "enough" | "scarce" = "enough";
  const answer = (step: number): ScriptedReply => [
    gate(assertPresent(wait)),
    says(`Answer ${step}`),
  ];
  const model = scriptedModel((request) => (reply ?? answer)(requests.push(request)));
  const cache = new AgentCache<CachedContext>({
    factory: {
      signature: async () => "one and the same",
      async build(): Promise<Agent> {
        await building;
        return {
          modelName: "scripted",
          model,
          system: async () => "You are being tested.",
          tools: new Map(tools.map((tool) => [tool.name, tool])),
          bytes: 1,
          close: async () => {},
        };
      },
    },
    clock,
    limits: { bytes: 1_000_000, count: 10, idleMs: 60_000, baselines: 8 },
    beforeClose: async () => {},
    memory: () => memory,
    sizeOf: () => 1,
    closeBudgetMs: 10_000,
    onError: (error) => {
      throw error;
    },
  });
  const runner = createRunner(store, log, { model, clock, deps: { agents: cache, ...deps } });
  const texts = (at: number) =>
    assertPresent(requests.at(at)).messages.map((message) => JSON.stringify(message));
  return {
    cache,
    runner,
    requests,
    clock,
    /** Whether the current request starts with everything sent before. */
    extendsRequest: (before: number, now: number) =>
      texts(before).every((message, index) => texts(now)[index] === message),
    hold: (opened: Promise<void>) => void (wait = opened),
    holdBuilding: (opened: Promise<void>) => void (building = opened),
    setMemory: (state: "enough" | "scarce") => void (memory = state),
    async send(chat: TestSession, lane: LaneKey, text: string): Promise<void> {
      const { owner, session } = chat;
      const input = { owner, session, lane, clientId: ids.make("message"), text };
      await admitMessage(log, ids, input);
      runner.notify(owner, session);
    },
    async turn(chat: TestSession, lane: LaneKey, text: string): Promise<void> {
      await this.send(chat, lane, text);
      await runner.idle();
    },
  };
}
