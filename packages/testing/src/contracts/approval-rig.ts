import {
  type ApprovalRow,
  answerApproval,
  type Clock,
  createLog,
  type Store,
  type Tool,
} from "@holdfast/engine";
import { aHolder } from "../fixtures/factories.ts";
import { createTool, okResult, createRunner, type RigDeps } from "../rigs/run-rig.ts";
import { manualClock } from "../fakes/manual-clock.ts";
import { assertPresent } from "../fixtures/open-session.ts";
import { ids } from "@holdfast/protocol";

import { crashingStore, type CrashPoint } from "./wrapped-stores.ts";
import type { ContractRig } from "./contract-rig.ts";
import { type Replies, repliesByPrompt } from "./peer-runs.ts";

/** One conversation, its runners, and how often its tool took effect. */
export async function openApprovalRig(rig: ContractRig, text: string, replies: Replies[string]) {
  const effects: unknown[] = [];
  const pay: Tool = createTool(
    "pay",
    async ({ input }) => okResult(`paid ${effects.push(input)}`),
    {
      approval: () => "ask",
    },
  );
  const readEffects = createTool("look", async () => okResult("seen"));
  const model = repliesByPrompt({ [text]: replies });
  const gone = new Set<string>();
  const runner = (store: Store = rig.store, deps: RigDeps = {}, clock: Clock = manualClock()) => {
    const holder = aHolder();
    gone.add(holder.nonce);
    return createRunner(store, createLog(store), {
      model,
      tools: [pay, readEffects],
      holder,
      dead: ({ nonce }) => nonce !== holder.nonce && gone.has(nonce),
      clock,
      deps,
    });
  };
  const said = await rig.send(text);
  const { chat } = said;
  const work = async (worker = runner()): Promise<void> => {
    worker.notify(chat.owner, chat.session);
    await worker.idle();
  };
  /** Works until the process dies. */
  const workUntilDeath = async (crashPoint: CrashPoint, deps: RigDeps = {}): Promise<void> => {
    const died = Promise.withResolvers<void>();
    const store = crashingStore(rig.store, crashPoint, died.resolve);
    const worker = runner(store, deps);
    await worker.sweep();
    await died.promise;
  };
  const open = async (): Promise<readonly ApprovalRow[]> => {
    const { owner, session } = chat;
    return (await rig.store.reads.approvals(owner, { session, limit: 10 })).approvals;
  };
  const answer = async (decision: "once" | "session" | "always" | "deny", nth = 0) =>
    answerApproval(rig.log, ids, chat.owner, assertPresent((await open())[nth]).id, decision);
  return { ...said, effects, model, runner, work, die: workUntilDeath, open, answer };
}
