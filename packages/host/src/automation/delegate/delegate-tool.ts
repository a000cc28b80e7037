import { z } from "zod";
import {
  type ApprovalRow,
  type Clock,
  type Log,
  type RunRow,
  StoreFailure,
  requestCancel,
  type Runner,
  type Tool,
  type ToolCall,
  type ToolContext,
  type ToolResult,
} from "@holdfast/engine";
import {
  decodeEvent,
  type Seq,
  terminalStates,
  textOf,
  type IdSource,
  newEvent,
  type ParentLink,
} from "@holdfast/protocol";
import { createExcerpt } from "../../util/excerpt.ts";
import { type Child, admitChild, childOf, childLanePrefixOf, parentOf } from "./child-session.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import { serialQueue } from "../../util/serial-queue.ts";
import { defineTool, failed } from "../../agent/tools/define-tool.ts";

const retryMs = 1_000;

/**
 * P7: that the store is away is no word about a task, whose child works on elsewhere or is there already: it is asked again
 * until it answers or nobody waits any more. Whatever is done so may be done twice.
 */
async function retryStoreFailures<T>(
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
async function waitForChild(
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
async function readFinalAnswer(
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

export interface DelegateDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly poke: Runner["notify"];
  /** How deep tasks may be handed on: 1 is a session's own children. */
  readonly depth: number;
  /** How many children one run may have. */
  readonly children: number;
}

const defaultMinutes = 30;
/** Less than a run may take, so that its parent gets to read the answer. */
const maxMinutes = 50;
/** Each holds the place of a run in this process, and its child needs one too. */
const maxWaiting = 200;
const minuteMs = 60_000;

const input = z.strictObject({
  task: z
    .string()
    .min(1)
    .max(50_000)
    .describe("All that the child has to know: it sees nothing of this conversation."),
  title: z.string().min(1).max(100).optional(),
  minutes: z
    .int()
    .min(1)
    .max(maxMinutes)
    .optional()
    .describe(`How long it may take; ${defaultMinutes} unless told.`),
});

/**
 * Gives a task to a child: a session of its own, with a run of its own. The call waits for the run's end; what the two
 * have to do with each other stands in the store, so that whoever begins the call again finds the child where it is.
 */
export function createDelegateTool(parts: DelegateDeps): Tool {
  const { log, clock, depth } = parts;
  const admitOneByOne = serialQueue();
  let waiting = 0;

  /** `null`: it is there. Otherwise why it cannot be, in words. */
  async function admit(call: ToolCall, words: string, title?: string): Promise<string | null> {
    const { owner, session, runId, callId } = call;
    const { reads } = log.store;
    if ((await reads.run(owner, childOf(call).runId)) !== null) return null;
    const parent = await parentOf(reads, owner, session);
    const above = parent === null ? [] : [parent.sessionId, ...(parent.above ?? [])];
    if (above.length >= depth)
      return `Tasks are handed on ${depth} deep at most: do this one here.`;
    const others = await reads.lanes(owner, childLanePrefixOf(call), parts.children);
    if (others.length >= parts.children)
      return `A run may have ${parts.children} children, and this one has had them: do this one here.`;
    const link: ParentLink = { sessionId: session, runId, callId, above };
    return admitChild(log, call, { text: words, title }, link);
  }

  async function follow(call: ToolCall, hands: ToolContext, ms: number): Promise<ToolResult> {
    const child = childOf(call);
    const over = new AbortController();
    const finished = new AbortController();
    void clock.sleep(ms, AbortSignal.any([finished.signal, hands.signal])).then(() => over.abort());
    const signal = AbortSignal.any([hands.signal, over.signal]);
    const asked = new Set<string>();
    const onAsked = async (approval: ApprovalRow): Promise<void> => {
      if (asked.has(approval.id)) return;
      await addWaitingNotices(log, call, child, approval);
      asked.add(approval.id);
      hands.write(`\nIt waits for a person's word: ${approval.tool}.\n`);
    };
    hands.write(`Session ${child.session} has the task.\n`);
    parts.poke(child.owner, child.session);
    try {
      const run = await waitForChild(log, child, { clock, signal, onAsked });
      if (hands.signal.aborted) return await detachFromChild(parts, call, child);
      return await retryStoreFailures(clock, hands.signal, () =>
        over.signal.aborted && run === null
          ? cancelOverdueChild(parts, child, ms)
          : resultOf(log, child, run),
      );
    } finally {
      finished.abort();
    }
  }

  return defineTool({
    name: "delegate",
    description:
      "Gives a task to a child agent with the same tools and workspace, waits for it and answers with its last words. Several at once work side by side.",
    input,
    // The call names its child: begun again, it finds the same one.
    replay: "safe",
    timeLimitMs: (maxMinutes + 1) * minuteMs,
    asks: "none",
    async run({ task, title, minutes = defaultMinutes }, call, hands) {
      if (waiting >= maxWaiting) return failed("Too many tasks are handed on here: do it here.");
      waiting += 1;
      try {
        // Those of one step come at once, and each counts the ones before it.
        const refused = await retryStoreFailures(clock, hands.signal, () =>
          admitOneByOne(() => admit(call, task, title)),
        );
        if (refused !== null) return failed(refused);
        return await follow(call, hands, minutes * minuteMs);
      } finally {
        waiting -= 1;
      }
    },
  });
}

/** A notice in every session above: whoever looks at one of them sees that something waits, and where. */
async function addWaitingNotices(
  log: Log,
  { owner, session, runId }: ToolCall,
  child: Child,
  { id: approvalId, tool, details }: ApprovalRow,
): Promise<void> {
  const parent = await parentOf(log.store.reads, owner, session);
  const above = parent === null ? [] : [parent.sessionId, ...(parent.above ?? [])];
  const what =
    details.kind === "question" ? "asks a question" : `asks for a person's word (${tool})`;
  for (const each of [session, ...above]) {
    const ids = deterministicIds(`child waits ${approvalId} ${each}`);
    const notice = {
      noticeId: ids.make("notice"),
      kind: "child_waiting",
      text: `A task that was handed on ${what} in session ${child.session}. Answer it there or among the approvals.`,
      details: { sessionId: child.session, runId: child.runId, approvalId },
    };
    const own = each === session ? runId : undefined;
    const event = newEvent(ids.make("event"), "notice.added", notice, own);
    // A session that takes no more is left out; the approval itself stands.
    const result = await log.commit({ owner, session: each, events: [event] });
    if (result.status === "failed") throw new StoreFailure(result.code, result.message);
  }
}

/** A cancel of the parent is one of its children; a host that only lets go leaves them at work. */
async function detachFromChild(
  { log, ids, poke }: DelegateDeps,
  { owner, runId }: ToolCall,
  child: Child,
): Promise<ToolResult> {
  const run = await log.store.reads.run(owner, runId);
  if (run === null || run.cancelRequested || terminalStates.has(run.state)) {
    await requestCancel(log, ids, owner, child.runId);
    poke(owner, child.session);
  }
  return { outcome: "cancelled", output: "", details: detailsOf(child) };
}

async function cancelOverdueChild(
  { log, ids, poke }: DelegateDeps,
  child: Child,
  ms: number,
): Promise<ToolResult> {
  const cancel = await requestCancel(log, ids, child.owner, child.runId);
  if (cancel.status === "failed") throw new StoreFailure(cancel.code, cancel.message);
  poke(child.owner, child.session);
  const { answer } = await readFinalAnswer(log, child);
  return failedResult(
    child,
    `It took longer than ${ms / minuteMs} minutes and was stopped.`,
    answer,
  );
}

async function resultOf(log: Log, child: Child, run: RunRow | null): Promise<ToolResult> {
  if (run === null) return failedResult(child, "The session that had the task is gone.", "");
  const { answer, notice } = await readFinalAnswer(log, child);
  if (run.state === "completed") {
    const output = `${answer}\n\n[answered in session ${child.session}]`;
    return { outcome: "ok", output, details: detailsOf(child) };
  }
  const why = run.cause === null ? "" : ` (${run.cause})`;
  const more = notice === "" ? "" : ` ${notice}`;
  return failedResult(child, `Its run ended as ${run.state}${why}.${more}`, answer);
}

function failedResult(child: Child, words: string, answer: string): ToolResult {
  const said = answer === "" ? "" : `\nIts last words were:\n${answer}`;
  return {
    ...failed(`${words} Its session is ${child.session}.${said}`),
    details: detailsOf(child),
  };
}

function detailsOf({ session, runId }: Child) {
  return { child: { sessionId: session, runId } };
}
