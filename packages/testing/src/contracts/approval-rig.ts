import {
  type ApprovalRow,
  answerApproval,
  type Clock,
  createLog,
  type RunnerDeps,
  type Store,
  type Tool,
} from "@holdfast/engine";
import { aHolder } from "../fixtures/factories.ts";
import { aTool, ok } from "../rigs/run-words.ts";
import { createRunner } from "../rigs/run-rig.ts";
import { manualClock } from "../fakes/manual-clock.ts";
import { present } from "../fixtures/open-session.ts";
import { ids } from "@holdfast/protocol";

import { dyingStore, type LastMoment } from "./dying-store.ts";
import type { RunBed } from "./contract-rig.ts";
import { type Replies, repliesByPrompt } from "./runs-elsewhere.ts";

/** One conversation, its runners, and how often its tool took effect. */
export async function beginAsking(bed: RunBed, text: string, replies: Replies[string]) {
  const effects: unknown[] = [];
  const pay: Tool = aTool("pay", async ({ input }) => ok(`paid ${effects.push(input)}`), {
    approval: () => "ask",
  });
  const look = aTool("look", async () => ok("seen"));
  const model = repliesByPrompt({ [text]: replies });
  const gone = new Set<string>();
  const runner = (
    store: Store = bed.store,
    deps: Partial<RunnerDeps> = {},
    clock: Clock = manualClock(),
  ) => {
    const holder = aHolder();
    gone.add(holder.nonce);
    return createRunner(store, createLog(store), {
      model,
      tools: [pay, look],
      holder,
      dead: ({ nonce }) => nonce !== holder.nonce && gone.has(nonce),
      clock,
      deps,
    });
  };
  const said = await bed.say(text);
  const { chat } = said;
  const work = async (each = runner()): Promise<void> => {
    each.poke(chat.owner, chat.session);
    await each.idle();
  };
  /** Works until the process is dead. */
  const die = async (moment: LastMoment, deps: Partial<RunnerDeps> = {}): Promise<void> => {
    const died = Promise.withResolvers<void>();
    const store = dyingStore(bed.store, moment, died.resolve);
    const each = runner(store, deps);
    await each.sweep();
    await died.promise;
  };
  const open = async (): Promise<readonly ApprovalRow[]> => {
    const { owner, session } = chat;
    return (await bed.store.reads.approvals(owner, { session, limit: 10 })).approvals;
  };
  const answer = async (decision: "once" | "session" | "always" | "deny", nth = 0) =>
    answerApproval(bed.log, ids, chat.owner, present((await open())[nth]).id, decision);
  return { ...said, effects, model, runner, work, die, open, answer };
}
