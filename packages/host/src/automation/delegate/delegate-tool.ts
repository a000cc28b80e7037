import { z } from "zod";
import {
  type ApprovalRow,
  type Clock,
  type Log,
  type RunRow,
  StoreFailure,
  readContext,
  requestCancel,
  type Runner,
  taintOf,
  type Tool,
  type ToolCall,
  type ToolContext,
  type ToolResult,
} from "@holdfast/engine";
import {
  decodeEvent,
  defaultMode,
  type Seq,
  terminalStates,
  textOf,
  type IdSource,
  newEvent,
  type ParentLink,
  type TaintSource,
} from "@holdfast/protocol";
import { createExcerpt } from "../../util/excerpt.ts";
import { type Child, admitChild, childOf, childLanePrefixOf, parentOf } from "./child-session.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import { serialQueue } from "../../util/serial-queue.ts";
import { defineTool, failed } from "../../agent/tools/define-tool.ts";

export interface DelegateDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly notify: Runner["notify"];
  /** Maximum nesting depth: 1 allows a session its own children only. */
  readonly depth: number;
  /** Maximum number of children per run. */
  readonly children: number;
}

const defaultMinutes = 30;
/** Less than a run may take, so that the parent has time to read the answer. */
const maxMinutes = 50;
/** Each waiting call occupies a run slot in this process, and its child needs one too. */
const maxWaiting = 200;
const minuteMs = 60_000;

const input = z.strictObject({
  task: z.string().min(1).max(50_000).describe("It sees nothing of this conversation."),
  title: z.string().min(1).max(100).optional(),
  minutes: z
    .int()
    .min(1)
    .max(maxMinutes)
    .optional()
    .describe(`How long it may take; ${defaultMinutes} unless told.`),
});

/**
 * Delegates a task to a child: a session with a run of its own. The call waits for the run's end. The link between
 * the two is stored, so a repeated call finds the same child.
 */
export function createDelegateTool(deps: DelegateDeps): Tool {
  const { log, clock, depth } = deps;
  const admissionQueue = serialQueue();
  let waiting = 0;

  /** `null`: the child exists. Otherwise the reason for refusing. */
  async function admit(call: ToolCall, text: string, title?: string): Promise<string | null> {
    const { owner, session, runId, callId } = call;
    const { reads } = log.store;
    if ((await reads.run(owner, childOf(call).runId)) !== null) return null;
    const parent = await parentOf(reads, owner, session);
    const above = parent === null ? [] : [parent.sessionId, ...(parent.above ?? [])];
    if (above.length >= depth)
      return `Tasks are handed on ${depth} deep at most: do this one here.`;
    const others = await reads.lanes(owner, childLanePrefixOf(call), deps.children);
    if (others.length >= deps.children)
      return `A run may have ${deps.children} children, and this one has had them: do this one here.`;
    const link: ParentLink = { sessionId: session, runId, callId, above };
    const { rights, taint = [], mode = defaultMode } = call;
    return admitChild(log, call, { text, title, rights, taint, mode }, link);
  }

  async function follow(
    call: ToolCall,
    context: ToolContext,
    timeoutMs: number,
  ): Promise<ToolResult> {
    const child = childOf(call);
    const timedOut = new AbortController();
    const finished = new AbortController();
    void clock
      .sleep(timeoutMs, AbortSignal.any([finished.signal, context.signal]))
      .then(() => timedOut.abort());
    const signal = AbortSignal.any([context.signal, timedOut.signal]);
    const notifiedApprovals = new Set<string>();
    const onAsked = async (approval: ApprovalRow): Promise<void> => {
      if (notifiedApprovals.has(approval.id)) return;
      await addWaitingNotices(log, call, child, approval);
      notifiedApprovals.add(approval.id);
      context.write(`\nIt waits for a person's word: ${approval.tool}.\n`);
    };
    context.write(`Session ${child.session} has the task.\n`);
    deps.notify(child.owner, child.session);
    try {
      const run = await waitForChild(log, child, { clock, signal, onAsked });
      if (context.signal.aborted) return await detachFromChild(deps, call, child);
      return await retryStoreFailures(clock, context.signal, async () => ({
        ...(timedOut.signal.aborted && run === null
          ? await cancelOverdueChild(deps, child, timeoutMs)
          : await resultOf(log, child, run)),
        taint: await taintOfChild(log, child),
      }));
    } finally {
      finished.abort();
    }
  }

  return defineTool({
    name: "delegate",
    description:
      "Gives a task to a child agent with the same tools and workspace, waits for it and answers with its last words. Several at once work side by side.",
    input,
    // The call determines its child: repeated, it finds the same one.
    replay: "safe",
    timeLimitMs: (maxMinutes + 1) * minuteMs,
    asks: "none",
    // A child has no wider mode than its parent.
    onlyReads: true,
    async run({ task, title, minutes = defaultMinutes }, call, context) {
      if (waiting >= maxWaiting) return failed("Too many tasks are handed on here: do it here.");
      waiting += 1;
      try {
        // Calls of one step arrive together, and each has to count those before it.
        const refused = await retryStoreFailures(clock, context.signal, () =>
          admissionQueue(() => admit(call, task, title)),
        );
        if (refused !== null) return failed(refused);
        return await follow(call, context, minutes * minuteMs);
      } finally {
        waiting -= 1;
      }
    },
  });
}

export interface WaitDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called for each open approval, possibly more than once. */
  readonly onAsked: (approval: ApprovalRow) => Promise<void>;
}

const relevantEvents: ReadonlySet<string> = new Set(["run.state", "approval.asked"]);

/** Waits until the child's run has ended, in whichever process. `null`: it is gone, or the call was aborted. */
async function waitForChild(
  log: Log,
  child: Child,
  { clock, signal, onAsked }: WaitDeps,
): Promise<RunRow | null> {
  const { owner, session, runId } = child;
  const { reads } = log.store;

  async function readEnded(): Promise<RunRow | "running" | null> {
    const run = await reads.run(owner, runId);
    if (run === null || terminalStates.has(run.state)) return run;
    if (run.state !== "waiting") return "running";
    const { approvals } = await reads.approvals(owner, { session, limit: 20 });
    for (const approval of approvals) await onAsked(approval);
    return "running";
  }

  /** A read that fails after the abort counts as not found. */
  async function readEndedOrNull(): Promise<RunRow | "running" | null> {
    try {
      return await retryStoreFailures(clock, signal, readEnded);
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
      const run = await readEndedOrNull();
      if (run !== "running") return run;
    }
  }
  return null;
}

const retryMs = 1_000;

/**
 * P7: a store outage says nothing about a task, whose child may be running elsewhere. Retries until the store
 * answers or the call is aborted, so `work` must be safe to repeat.
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

/** Adds a notice to every ancestor session, so that whoever looks at one sees that something waits, and where. */
async function addWaitingNotices(
  log: Log,
  { owner, session, runId }: ToolCall,
  child: Child,
  { id: approvalId, tool, details }: ApprovalRow,
): Promise<void> {
  const parent = await parentOf(log.store.reads, owner, session);
  const above = parent === null ? [] : [parent.sessionId, ...(parent.above ?? [])];
  const request =
    details.kind === "question" ? "asks a question" : `asks for a person's word (${tool})`;
  for (const target of [session, ...above]) {
    const ids = deterministicIds(`child waits ${approvalId} ${target}`);
    const notice = {
      noticeId: ids.make("notice"),
      kind: "child_waiting",
      text: `A task that was handed on ${request} in session ${child.session}. Answer it there or among the approvals.`,
      details: { sessionId: child.session, runId: child.runId, approvalId },
    };
    const noticeRunId = target === session ? runId : undefined;
    const event = newEvent(ids.make("event"), "notice.added", notice, noticeRunId);
    // A session that refuses the event is skipped; the approval itself stays.
    const result = await log.commit({ owner, session: target, events: [event] });
    if (result.status === "failed") throw new StoreFailure(result.code, result.message);
  }
}

/** Cancelling the parent cancels its children; a host that merely stops leaves them running. */
async function detachFromChild(
  { log, ids, notify }: DelegateDeps,
  { owner, runId }: ToolCall,
  child: Child,
): Promise<ToolResult> {
  const run = await log.store.reads.run(owner, runId);
  if (run === null || run.cancelRequested || terminalStates.has(run.state)) {
    await requestCancel(log, ids, owner, child.runId);
    notify(owner, child.session);
  }
  return { outcome: "cancelled", output: "", details: detailsOf(child) };
}

async function cancelOverdueChild(
  { log, ids, notify }: DelegateDeps,
  child: Child,
  timeoutMs: number,
): Promise<ToolResult> {
  const cancel = await requestCancel(log, ids, child.owner, child.runId);
  if (cancel.status === "failed") throw new StoreFailure(cancel.code, cancel.message);
  notify(child.owner, child.session);
  const { answer } = await readFinalAnswer(log, child);
  return failedResult(
    child,
    `It took longer than ${timeoutMs / minuteMs} minutes and was stopped.`,
    answer,
  );
}

/** Its answer may repeat whatever it has read. */
async function taintOfChild(
  { store }: Log,
  { owner, session }: Child,
): Promise<readonly TaintSource[]> {
  const context = await readContext(store.reads, owner, session);
  return context === null ? [] : taintOf(context);
}

async function resultOf(log: Log, child: Child, run: RunRow | null): Promise<ToolResult> {
  if (run === null) return failedResult(child, "The session that had the task is gone.", "");
  const { answer, notice } = await readFinalAnswer(log, child);
  if (run.state === "completed") {
    const output = `${answer}\n\n[answered in session ${child.session}]`;
    return { outcome: "ok", output, details: detailsOf(child) };
  }
  const cause = run.cause === null ? "" : ` (${run.cause})`;
  const noticeText = notice === "" ? "" : ` ${notice}`;
  return failedResult(child, `Its run ended as ${run.state}${cause}.${noticeText}`, answer);
}

function failedResult(child: Child, reason: string, answer: string): ToolResult {
  const lastAnswer = answer === "" ? "" : `\nIts last words were:\n${answer}`;
  return {
    ...failed(`${reason} Its session is ${child.session}.${lastAnswer}`),
    details: detailsOf(child),
  };
}

function detailsOf({ session, runId }: Child) {
  return { child: { sessionId: session, runId } };
}

const maxAnswerLength = 30_000;
const entriesRead = 50;

/** The run's last answer, and its last notice, which says why it failed. */
async function readFinalAnswer(
  log: Log,
  { owner, session, runId }: Child,
): Promise<{ readonly answer: string; readonly notice: string }> {
  const page = await log.store.reads.entries(owner, session, { limit: entriesRead });
  const runEntries = (page?.entries ?? []).filter((entry) => entry.runId === runId);
  let answer = "";
  let notice = "";
  for (const entry of runEntries) {
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
