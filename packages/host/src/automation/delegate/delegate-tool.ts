import { z } from "zod";
import {
  type ApprovalRow,
  type Clock,
  type Log,
  type RunRow,
  requestCancel,
  StoreFailure,
  type Runner,
  type Tool,
  type ToolCall,
  type ToolContext,
  type ToolResult,
} from "@holdfast/engine";
import {
  defaultMode,
  type IdSource,
  jsonObject,
  narrowestMode,
  newEvent,
  ownerRights,
  type ParentLink,
  type Rights,
  type RunBudget,
  type Seq,
  terminalStates,
} from "@holdfast/protocol";
import type { ProfileLookup, Profiles } from "../../agent/profiles/profiles.ts";
import { defineTool, failed } from "../../agent/tools/define-tool.ts";
import { commonRights } from "../../rights/resolve-rights.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import { serialQueue } from "../../util/serial-queue.ts";
import { childDetails, overdueResult, resultOf, taintOfChild } from "./child-result.ts";
import {
  admitChild,
  briefOf,
  type Child,
  childLanePrefixOf,
  childOf,
  parentOf,
  type Task,
} from "./child-session.ts";

export interface DelegateDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly notify: Runner["notify"];
  /** Maximum nesting depth: 1 allows a session its own children only. */
  readonly depth: number;
  /** Without it there are no agents with a name. */
  readonly profiles?: Pick<Profiles, "find">;
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
    .describe(`Time limit; default ${defaultMinutes}.`),
  agent: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe("One of the agents listed in the system prompt."),
});
type Input = z.infer<typeof input>;

/** A part of its time is for the answer: the child is told to conclude before it is ended. */
const workShare = 0.9;

/**
 * Delegates a task to a child: a session with a run of its own. The call waits for the run's end. The link between
 * the two is stored, so a repeated call finds the same child.
 */
export function createDelegateTool(deps: DelegateDeps): Tool {
  const { log, clock, depth } = deps;
  const admissionQueue = serialQueue();
  let waiting = 0;

  /** `null`: the child exists. Otherwise the reason for refusing. */
  async function admit(call: ToolCall, given: Input): Promise<string | null> {
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
    const found = await findProfile(call, given.agent);
    if (found?.status === "refused") return found.reason;
    const link: ParentLink = { sessionId: session, runId, callId, above };
    return admitChild(log, call, taskFor(call, given, found), link);
  }

  async function findProfile(
    { owner, session }: ToolCall,
    name: string | undefined,
  ): Promise<ProfileLookup | null> {
    if (name === undefined) return null;
    const none = { status: "refused", reason: "There are no agents to choose from." } as const;
    return (await deps.profiles?.find({ owner, session }, name)) ?? none;
  }

  async function follow(
    call: ToolCall,
    context: ToolContext,
    timeoutMs: number,
  ): Promise<ToolResult> {
    const child = childOf(call);
    const details = () => childDetails(log, child);
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
      if (context.signal.aborted)
        return { ...(await detachFromChild(deps, call, child)), details: await details() };
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
      "Gives a task to a child agent with the same tools and workspace, waits, and returns its final answer. Several at once run in parallel.",
    input,
    // The call determines its child: repeated, it finds the same one.
    replay: "safe",
    timeLimitMs: (maxMinutes + 1) * minuteMs,
    asks: "none",
    // A child has no wider mode than its parent.
    onlyReads: true,
    async run(given, call, context) {
      if (waiting >= maxWaiting) return failed("Too many tasks are handed on here: do it here.");
      waiting += 1;
      try {
        // Calls of one step arrive together, and each has to count those before it.
        const refused = await retryStoreFailures(clock, context.signal, () =>
          admissionQueue(() => admit(call, given)),
        );
        if (refused !== null) return failed(refused);
        const brief = await retryStoreFailures(clock, context.signal, () =>
          briefOf(log.store.reads, call.owner, childOf(call).session),
        );
        // As it was when the task was given, whatever the profile says by now.
        const workMs = brief?.budget?.timeMs ?? timeFor(given, null) * workShare;
        return await follow(call, context, Math.round(workMs / workShare));
      } finally {
        waiting -= 1;
      }
    },
  });
}

/** How long a task may take: the call and the profile can both shorten it. */
function timeFor(
  { minutes }: Input,
  profile: { readonly budget: RunBudget | null } | null,
): number {
  const ofProfile = profile?.budget?.timeMs;
  const usual = ofProfile ?? defaultMinutes * minuteMs;
  return Math.min(minutes === undefined ? usual : minutes * minuteMs, ofProfile ?? Infinity);
}

/** A child never may more than its parent: its profile only narrows. */
function taskFor(
  { rights = ownerRights, taint = [], mode = defaultMode }: ToolCall,
  given: Input,
  found: Extract<ProfileLookup, { status: "found" }> | null,
): Task {
  const profile = found?.profile ?? null;
  const timeMs = Math.round(timeFor(given, profile) * workShare);
  const ofTools: Rights[] =
    profile?.tools == null
      ? []
      : [{ ...ownerRights, profile: `agent:${profile.name}`, tools: [...profile.tools] }];
  return {
    text: given.task,
    title: given.title,
    rights: commonRights([rights, ...(found?.rights ? [found.rights] : []), ...ofTools]),
    taint,
    mode: narrowestMode(mode, profile?.mode ?? mode),
    model: profile?.model ?? null,
    brief: {
      ...(profile !== null && {
        profile: { name: profile.name, hash: profile.hash, prompt: profile.prompt },
        ...(profile.effort !== null && { effort: profile.effort }),
      }),
      budget: { ...profile?.budget, timeMs },
    },
  };
}

/** The tool as sessions without agents to choose from have it. */
export function withoutAgents(tool: Tool): Tool {
  const { agent: _, ...properties } = jsonObject.parse(tool.input["properties"] ?? {});
  return { ...tool, input: { ...tool.input, properties } };
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
    // A call of the child may ask something while its run goes on.
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
  return { outcome: "cancelled", output: "" };
}

/** How long a child that was stopped has to store what it has said. */
const graceMs = 10_000;

async function cancelOverdueChild(
  { log, ids, clock, notify }: DelegateDeps,
  child: Child,
  timeoutMs: number,
): Promise<ToolResult> {
  const cancel = await requestCancel(log, ids, child.owner, child.runId);
  if (cancel.status === "failed") throw new StoreFailure(cancel.code, cancel.message);
  notify(child.owner, child.session);
  const [patience, finished] = [new AbortController(), new AbortController()];
  void clock.sleep(graceMs, finished.signal).then(() => patience.abort());
  const onAsked = async (): Promise<void> => {};
  await waitForChild(log, child, { clock, signal: patience.signal, onAsked });
  finished.abort();
  return overdueResult(log, child, timeoutMs / minuteMs);
}
