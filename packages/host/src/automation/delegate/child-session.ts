import { acceptInput, type Log, type Reads, StoreFailure, type ToolCall } from "@holdfast/engine";
import {
  type ChildBrief,
  decodeEvent,
  type EventData,
  defaultMode,
  type IdSource,
  type LaneKey,
  laneKey,
  newEvent,
  type OwnerId,
  type ParentLink,
  type Rights,
  type RunBudget,
  type RunId,
  type Seq,
  type SessionId,
  type SessionMode,
  type TaintSource,
  titleFrom,
  callId,
  runId as runIdSchema,
  sessionId,
} from "@holdfast/protocol";
import { deterministicIds } from "../../util/deterministic-ids.ts";

/** The tool call that delegates a task. Everything about its child derives from it. */
export type ParentCall = Pick<ToolCall, "owner" | "session" | "runId" | "callId">;

export interface Child {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
}

export interface Task {
  readonly text: string;
  readonly title: string | undefined;
  /** What its parent may; a child never may more. */
  readonly rights: Rights | undefined;
  /** What its parent has read. */
  readonly taint: readonly TaintSource[];
  /** At most the mode that applied to its parent's call. */
  readonly mode: SessionMode;
  /** By default that of its parent. */
  readonly model?: string | null;
  /** What it works by, whatever becomes of its profile. */
  readonly brief: ChildBrief;
}

/** Prefix of every child's lane: input there comes from another agent, not from a person. */
export const childLanePrefix = "delegate:";
const tagPrefix = "child-of:";

/** Prefix of the lanes of one run's children. */
export function childLanePrefixOf({
  session,
  runId,
}: Pick<ParentCall, "session" | "runId">): string {
  return `${childLanePrefix}${session}:${runId}:`;
}

function childLaneOf(call: ParentCall): LaneKey {
  return laneKey.parse(`${childLanePrefixOf(call)}${call.callId}`);
}

function childTag(parent: SessionId): string {
  return `${tagPrefix}${parent}`;
}

export function hasChildTag({ tags }: { readonly tags: readonly string[] }): boolean {
  return tags.some((tag) => tag.startsWith(tagPrefix));
}

/** The parent of a session, or `null`. A branch of a child belongs to the person who made it. */
export async function parentOf(
  reads: Pick<Reads, "events">,
  owner: OwnerId,
  session: SessionId,
): Promise<ParentLink | null> {
  return (await createdAs(reads, owner, session))?.parent ?? null;
}

/** What a child works by; `null` for a session that is none. */
export async function briefOf(
  reads: Pick<Reads, "events">,
  owner: OwnerId,
  session: SessionId,
): Promise<ChildBrief | null> {
  return (await createdAs(reads, owner, session))?.child ?? null;
}

async function createdAs(
  reads: Pick<Reads, "events">,
  owner: OwnerId,
  session: SessionId,
): Promise<EventData<"session.created"> | null> {
  const page = await reads.events(owner, session, { after: 0 as Seq, limit: 1 });
  const [first] = page?.events ?? [];
  const decoded = first && decodeEvent(first);
  const isCreation = decoded?.kind === "known" && decoded.event.type === "session.created";
  return isCreation ? decoded.event.data : null;
}

/** What the run of a child may use; `null` for any other run. */
export async function budgetOfChild(
  reads: Pick<Reads, "events">,
  run: RunRef & { readonly lane: LaneKey | null },
): Promise<RunBudget | null> {
  if (run.lane?.startsWith(childLanePrefix) !== true) return null;
  return (await briefOf(reads, run.owner, run.session))?.budget ?? null;
}

/** P7: the same call names the same child, on any host and however often. */
export function childOf(call: ParentCall): Child {
  const ids = childIds(call);
  return { owner: call.owner, session: ids.make("session"), runId: ids.make("run") };
}

/** Counts each kind separately, so that the first session and first run id are always the child's. */
function childIds(call: ParentCall): IdSource {
  const sources = new Map<string, IdSource>();
  const lane = childLaneOf(call);
  return {
    make(kind) {
      const source = sources.get(kind) ?? deterministicIds(`${lane} ${kind}`);
      sources.set(kind, source);
      return source.make(kind);
    },
  };
}

/**
 * Creates the session, links it to its parent and accepts its task in one commit. P3: all ids derive from the
 * call, so a repetition after a crash gets the same answer. Throws when the store fails.
 */
export async function admitChild(
  log: Log,
  call: ParentCall,
  task: Task,
  parent: ParentLink,
): Promise<string | null> {
  const { owner, session: parentSession } = call;
  const ids = childIds(call);
  const session = ids.make("session");
  const lane = childLaneOf(call);
  const row = await log.store.reads.session(owner, parentSession);
  if (row === null) return "There is no such session.";
  const created = {
    title: task.title ?? (titleFrom(task.text) || "A task"),
    titleSource: "chosen",
    model: task.model ?? row.model,
    workspace: workspaceOf(parentSession, row.workspace),
    archived: true,
    tags: [childTag(parentSession)],
    parent,
    child: task.brief,
    ...(task.mode !== defaultMode && { mode: task.mode }),
  } as const;
  const { events, refused } = await acceptInput(ids, {
    owner,
    session,
    clientId: call.callId,
    text: `[a task from another agent, in session ${parentSession}; your last answer is handed back to it]\n\n${task.text}`,
    lane,
    ...(task.rights && { rights: task.rights }),
    taint: task.taint,
  });
  if (refused !== undefined) return refused.message;
  const result = await log.commit({
    owner,
    session,
    events: [
      newEvent(ids.make("event"), "session.created", { ...created, tags: [...created.tags] }),
      newEvent(ids.make("event"), "lane.bound", { lane }),
      ...events,
    ],
  });
  if (result.status === "failed") throw new StoreFailure(result.code, result.message);
  return result.status === "committed" ? null : result.message;
}

/** The parent's workspace. */
function workspaceOf(parent: SessionId, workspace: string | null): string {
  return workspace ?? `session:${parent}`;
}

/** The call that a child's lane names. */
export function parentCallFromLane(owner: OwnerId, lane: LaneKey): ParentCall | null {
  const [session, run, call] = lane.slice(childLanePrefix.length).split(":");
  const [parentSession, parentRun, parentCall] = [
    sessionId.safeParse(session),
    runIdSchema.safeParse(run),
    callId.safeParse(call),
  ];
  if (!parentSession.success || !parentRun.success || !parentCall.success) return null;
  return { owner, session: parentSession.data, runId: parentRun.data, callId: parentCall.data };
}

interface RunRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
}

/** More than a run may have. */
const maxChildren = 100;

/**
 * All runs that work on the same person's message: the run that a person started, its children, and theirs. Read
 * from the store, so it is the same in every process and after every crash.
 */
export async function delegationTree(
  reads: Pick<Reads, "events" | "lanes">,
  run: RunRef,
): Promise<readonly RunId[]> {
  return descendantsOf(reads, await rootRunOf(reads, run));
}

/** The run that works on a person's message or a scheduled prompt, for which this one works. */
export async function rootRunOf(reads: Pick<Reads, "events">, run: RunRef): Promise<RunRef> {
  let root = run;
  for (;;) {
    const parent = await parentCallOf(reads, root);
    if (parent === null) return root;
    root = parent;
  }
}

/** The call that started a run, or `null` if a person did: their message in a child's session is a run of their own. */
async function parentCallOf(
  reads: Pick<Reads, "events">,
  { owner, session, runId }: RunRef,
): Promise<ParentCall | null> {
  const parent = await parentOf(reads, owner, session);
  if (parent === null) return null;
  const call = { owner, session: parent.sessionId, runId: parent.runId, callId: parent.callId };
  return childOf(call).runId === runId ? call : null;
}

/** A run, and those that work on what it delegated. */
export async function descendantsOf(
  reads: Pick<Reads, "lanes">,
  run: RunRef,
): Promise<readonly RunId[]> {
  const lanes = await reads.lanes(run.owner, childLanePrefixOf(run), maxChildren);
  const children = lanes
    .flatMap(({ lane }) => parentCallFromLane(run.owner, lane) ?? [])
    .map(childOf);
  const descendants = await Promise.all(children.map((child) => descendantsOf(reads, child)));
  return [run.runId, ...descendants.flat()];
}
