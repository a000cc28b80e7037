import {
  type ApprovalRow,
  type Clock,
  type Log,
  type RunRow,
  StoreFailure,
} from "@holdfast/engine";
import { decodeEvent, type Seq, terminalStates, textOf } from "@holdfast/protocol";

import { createExcerpt } from "../../util/excerpt.ts";
import type { Child } from "./child-session.ts";

const retryMs = 1_000;

/**
 * P7: that the store is away is no word about a task, whose child works on elsewhere or is there already: it is asked again
 * until it answers or nobody waits any more. Whatever is done so may be done twice.
 */
export async function retryStoreFailures<T>(
  clock: Clock,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreFailure) || signal.aborted) throw error;
      await clock.sleep(retryMs, signal);
    }
  }
}

export interface WaitDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told of what waits for a person's word, perhaps more than once. */
  readonly onAsked: (approval: ApprovalRow) => Promise<void>;
}

const relevantEvents: ReadonlySet<string> = new Set(["run.state", "approval.asked"]);

/** Waits until the child's run has ended, in whichever process. `null`: it is gone, or nobody waits any more. */
export async function waitForChild(
  log: Log,
  child: Child,
  { clock, signal, onAsked }: WaitDeps,
): Promise<RunRow | null> {
  const { owner, session, runId } = child;
  const { reads } = log.store;

  async function look(): Promise<RunRow | "goes on" | null> {
    const run = await reads.run(owner, runId);
    if (run === null || terminalStates.has(run.state)) return run;
    if (run.state !== "waiting") return "goes on";
    const { approvals } = await reads.approvals(owner, { session, limit: 20 });
    for (const approval of approvals) await onAsked(approval);
    return "goes on";
  }

  /** A look that fails when nobody waits any more has seen nothing. */
  async function lookAgain(): Promise<RunRow | "goes on" | null> {
    try {
      return await retryStoreFailures(clock, signal, look);
    } catch (error) {
      if (error instanceof StoreFailure) return null;
      throw error;
    }
  }

  let after = 0 as Seq;
  while (!signal.aborted) {
    for await (const item of log.tail(owner, session, after, { signal })) {
      if (item.kind === "gone") return null;
      if (item.kind === "cut") after = item.after;
      if (item.kind === "status") continue;
      if (item.kind === "events" && !item.events.some(({ type }) => relevantEvents.has(type)))
        continue;
      const run = await lookAgain();
      if (run !== "goes on") return run;
    }
  }
  return null;
}

const maxAnswerLength = 30_000;
const entriesRead = 50;

/** The last words of the run that are an answer, and the last notice where it has failed. */
export async function readFinalAnswer(
  log: Log,
  { owner, session, runId }: Child,
): Promise<{ readonly answer: string; readonly notice: string }> {
  const page = await log.store.reads.entries(owner, session, { limit: entriesRead });
  const own = (page?.entries ?? []).filter((entry) => entry.runId === runId);
  let answer = "";
  let notice = "";
  for (const entry of own) {
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") continue;
    const { event } = decoded;
    if (event.type === "message.assistant") answer = textOf(event.data.parts) || answer;
    if (event.type === "notice.added") notice = event.data.text;
  }
  const excerpt = createExcerpt(maxAnswerLength);
  excerpt.add(answer);
  return { answer: excerpt.text(), notice };
}
