import { acceptInput, type Log, type Reads, StoreFailure, type ToolCall } from "@holdfast/engine";
import {
  decodeEvent,
  type IdSource,
  type LaneKey,
  laneKey,
  newEvent,
  type OwnerId,
  type ParentLink,
  type RunId,
  type Seq,
  type SessionId,
  titleFrom,
  callId,
  runId as runIdSchema,
  sessionId,
} from "@holdfast/protocol";
import { deterministicIds } from "../../util/deterministic-ids.ts";

/** The call that gives a task. Everything about its child follows from it. */
export type ParentCall = Pick<ToolCall, "owner" | "session" | "runId" | "callId">;

export interface Child {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
}

export interface Task {
  readonly text: string;
  readonly title: string | undefined;
}

const lanePrefix = "delegate:";
const tagPrefix = "child-of:";

/** The children of a run: their lanes begin so. */
export function childLanePrefixOf({
  session,
  runId,
}: Pick<ParentCall, "session" | "runId">): string {
  return `${lanePrefix}${session}:${runId}:`;
}

/** Every child of every session has a lane that begins so. */
export const childLanePrefix = lanePrefix;

function childLaneOf(given: ParentCall): LaneKey {
  return laneKey.parse(`${childLanePrefixOf(given)}${given.callId}`);
}

/** What is said there is another agent's word, and no person's. */
export function isChildLane(lane: string | null): boolean {
  return lane?.startsWith(lanePrefix) === true;
}

function childTag(parent: SessionId): string {
  return `${tagPrefix}${parent}`;
}

export function hasChildTag({ tags }: { readonly tags: readonly string[] }): boolean {
  return tags.some((tag) => tag.startsWith(tagPrefix));
}

/** Whose child a session is. A branch of a child is a person's own. */
export async function parentOf(
  reads: Pick<Reads, "events">,
  owner: OwnerId,
  session: SessionId,
): Promise<ParentLink | null> {
  const page = await reads.events(owner, session, { after: 0 as Seq, limit: 1 });
  const [first] = page?.events ?? [];
  const decoded = first && decodeEvent(first);
  if (decoded?.kind !== "known" || decoded.event.type !== "session.created") return null;
  return decoded.event.data.parent ?? null;
}

/** P7: the same call names the same child, whoever asks and however often. */
export function childOf(given: ParentCall): Child {
  const ids = childIds(given);
  return { owner: given.owner, session: ids.make("session"), runId: ids.make("run") };
}

/** Each kind is counted by itself, so that the first session and the first run are always the child's. */
function childIds(given: ParentCall): IdSource {
  const counted = new Map<string, IdSource>();
  const lane = childLaneOf(given);
  return {
    make(kind) {
      const source = counted.get(kind) ?? deterministicIds(`${lane} ${kind}`);
      counted.set(kind, source);
      return source.make(kind);
    },
  };
}

/**
 * One commit makes the session, says whose it is and accepts its task. P3: all of its ids follow from the call, so that
 * whoever sends it again after a crash is answered as the first time. Throws where the store cannot be asked.
 */
export async function admitChild(
  log: Log,
  given: ParentCall,
  task: Task,
  parent: ParentLink,
): Promise<string | null> {
  const { owner, session: parentSession } = given;
  const made = childIds(given);
  const session = made.make("session");
  const lane = childLaneOf(given);
  const row = await log.store.reads.session(owner, parentSession);
  if (row === null) return "There is no such session.";
  const created = {
    title: task.title ?? (titleFrom(task.text) || "A task"),
    titleSource: "chosen",
    model: row.model,
    workspace: workspaceOf(parentSession, row.workspace),
    archived: true,
    tags: [childTag(parentSession)],
    parent,
  } as const;
  const { events, refused } = await acceptInput(made, {
    owner,
    session,
    clientId: given.callId,
    text: `[a task from another agent, in session ${parentSession}; your last answer is handed back to it]\n\n${task.text}`,
    lane,
  });
  if (refused !== undefined) return refused.message;
  const result = await log.commit({
    owner,
    session,
    events: [
      newEvent(made.make("event"), "session.created", { ...created, tags: [...created.tags] }),
      newEvent(made.make("event"), "lane.bound", { lane }),
      ...events,
    ],
  });
  if (result.status === "failed") throw new StoreFailure(result.code, result.message);
  return result.status === "committed" ? null : result.message;
}

/** Where its parent works. */
function workspaceOf(parent: SessionId, named: string | null): string {
  return named ?? `session:${parent}`;
}

/** The call that the lane of a child names. */
export function parentCallFromLane(owner: OwnerId, lane: LaneKey): ParentCall | null {
  const [session, run, call] = lane.slice(childLanePrefix.length).split(":");
  const [of, by, named] = [
    sessionId.safeParse(session),
    runIdSchema.safeParse(run),
    callId.safeParse(call),
  ];
  if (!of.success || !by.success || !named.success) return null;
  return { owner, session: of.data, runId: by.data, callId: named.data };
}

interface RunRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
}

/** More than a run may have. */
const maxChildren = 100;

/**
 * The runs that work for the same person's word: the one that a person has begun, its children, and theirs. All of it is read
 * from the store, so that it is the same in every process and after every crash.
 */
export async function delegationTree(
  reads: Pick<Reads, "events" | "lanes">,
  run: RunRef,
): Promise<readonly RunId[]> {
  let eldest = run;
  for (;;) {
    const given = await parentCallOf(reads, eldest);
    if (given === null) return descendantsOf(reads, eldest);
    eldest = given;
  }
}

/** The call that a run was made by. What a person says in a child's session is a run of the person's own. */
async function parentCallOf(
  reads: Pick<Reads, "events">,
  { owner, session, runId }: RunRef,
): Promise<ParentCall | null> {
  const parent = await parentOf(reads, owner, session);
  if (parent === null) return null;
  const given = { owner, session: parent.sessionId, runId: parent.runId, callId: parent.callId };
  return childOf(given).runId === runId ? given : null;
}

async function descendantsOf(reads: Pick<Reads, "lanes">, run: RunRef): Promise<readonly RunId[]> {
  const lanes = await reads.lanes(run.owner, childLanePrefixOf(run), maxChildren);
  const children = lanes
    .flatMap(({ lane }) => parentCallFromLane(run.owner, lane) ?? [])
    .map(childOf);
  const below = await Promise.all(children.map((child) => descendantsOf(reads, child)));
  return [run.runId, ...below.flat()];
}
