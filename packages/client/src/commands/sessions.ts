import type { Result, ApiError } from "../client/call-route.ts";
import {
  terminalStates,
  type RunView,
  type SessionRead,
  type SessionView,
  sessionId as sessionIdSchema,
  type SessionId,
} from "@holdfast/protocol";
import {
  type CommandAnswer,
  refuseCommand,
  refusalFrom,
  type CommandContext,
  idempotencyHeader,
  filterReachable,
  type SessionCommandContext,
} from "./command.ts";
import type { Client } from "../client/create-client.ts";

const maxListed = 20;
/** If only some sessions may be shown, they are searched for among this many. */
const maxScanned = 200;

/** Commands that switch between sessions or list them. */
export async function newSession(context: CommandContext, title: string): Promise<CommandAnswer> {
  const { client, sessionId, lane, workspace } = context;
  const created = await client.createSession({
    headers: idempotencyHeader(context),
    body: {
      ...(title !== "" && { title }),
      ...(lane !== undefined && { lane }),
      ...(workspace !== undefined && { workspace }),
      ...(sessionId !== null && { previousSessionId: sessionId }),
    },
  });
  if (!created.ok) return refusalFrom(created.error);
  return { kind: "moved", how: "begun", session: created.value.session };
}

export async function listSessions(
  context: CommandContext,
  filter: string,
): Promise<CommandAnswer> {
  const { client, sessionId: current } = context;
  const limit = context.mayReach === undefined ? maxListed : maxScanned;
  const query = { limit, ...(filter !== "" && { q: filter.slice(0, 200) }) };
  const found = await client.listSessions({ query });
  if (!found.ok) return refusalFrom(found.error);
  const all = await filterReachable(context, found.value.sessions, ({ id }) => id);
  const sessions = all.slice(0, maxListed);
  if (filter !== "" && sessions.length === 0)
    return refuseCommand(
      "session_not_found",
      `No session holds “${filter}”. /sessions lists them all.`,
    );
  return { kind: "sessions", sessions, current, why: "listed" };
}

export async function resumeSession(
  context: CommandContext,
  reference: string,
): Promise<CommandAnswer> {
  if (reference === "")
    return context.sessionId === null ? listSessions(context, "") : resumeInterruptedRun(context);
  const found = await findSessions(context.client, reference);
  if (!found.ok) return refusalFrom(found.error);
  const sessions = await filterReachable(context, found.sessions, ({ id }) => id);
  const [session, ...others] = sessions;
  if (session === undefined)
    return refuseCommand(
      "session_not_found",
      `No session fits “${reference}”. /sessions lists them.`,
    );
  if (others.length > 0) {
    const { sessionId: current } = context;
    return { kind: "sessions", sessions: sessions.slice(0, maxListed), current, why: "which" };
  }
  return { kind: "moved", how: "resumed", session };
}

/** Without an argument it means the interrupted answer here; if there is none, it lists the sessions to go to. */
async function resumeInterruptedRun(context: CommandContext): Promise<CommandAnswer> {
  if (context.sessionId === null) return listSessions(context, "");
  const read = await readCurrentSession({ ...context, sessionId: context.sessionId });
  if (!read.ok) return refusalFrom(read.error);
  const { run } = read.value;
  if (!isInterrupted(run)) return listSessions(context, "");
  const resumed = await context.client.resumeRun({
    params: { id: run.id },
    headers: idempotencyHeader(context),
  });
  if (!resumed.ok) return refusalFrom(resumed.error);
  const { id: runId, sessionId } = resumed.value.run;
  return { kind: "sent", how: "continued", sessionId, runId, messageId: null };
}

function isInterrupted(run: RunView | null): run is RunView {
  if (run === null) return false;
  return run.state === "paused" || (terminalStates.has(run.state) && run.state !== "completed");
}

export async function branch(
  context: SessionCommandContext,
  title: string,
): Promise<CommandAnswer> {
  const branched = await context.client.branch({
    params: { id: context.sessionId },
    headers: idempotencyHeader(context),
    body: title === "" ? {} : { title },
  });
  if (!branched.ok) return refusalFrom(branched.error);
  return { kind: "moved", how: "branched", session: branched.value.session };
}

export async function sessionStatus(context: SessionCommandContext): Promise<CommandAnswer> {
  const read = await readCurrentSession(context);
  if (!read.ok) return refusalFrom(read.error);
  const listed = await context.client.listApprovals({ query: { sessionId: context.sessionId } });
  if (!listed.ok) return refusalFrom(listed.error);
  const { session, run, inbox } = read.value;
  return { kind: "status", session, run, inbox, approvals: listed.value.approvals };
}

/** The session without its conversation. */
export function readCurrentSession({
  client,
  sessionId: id,
}: SessionCommandContext): Promise<Result<SessionRead>> {
  return client.readSession({ params: { id }, query: { limit: 1 } });
}

export async function searchSessions(
  context: CommandContext,
  filter: string,
): Promise<CommandAnswer> {
  const found = await context.client.search({
    query: { q: filter.slice(0, 200), limit: maxListed },
  });
  if (!found.ok) return refusalFrom(found.error);
  const hits = await filterReachable(context, found.value.hits, ({ sessionId }) => sessionId);
  return { kind: "hits", words: filter, hits };
}

/** The end of an id, which tells sessions apart: their beginnings are times and look alike. */
export function shortId(id: SessionId): string {
  return id.slice(-6);
}

export type FoundSessions =
  | { readonly ok: true; readonly sessions: readonly SessionView[] }
  | { readonly ok: false; readonly error: ApiError };

const pageSize = 200;
const maxPages = 10;
const minIdSuffix = 4;

/**
 * The sessions a person may mean: by a whole id, the end of one, a title, or words of a title. Better matches exclude
 * weaker ones.
 */
export async function findSessions(
  client: Client,
  reference: string,
  shelf: "active" | "archived" | "trash" = "active",
): Promise<FoundSessions> {
  const parsedId = sessionIdSchema.safeParse(reference);
  if (parsedId.success) {
    const read = await client.readSession({ params: { id: parsedId.data }, query: { limit: 1 } });
    return read.ok ? { ok: true, sessions: [read.value.session] } : read;
  }
  const lowerCased = reference.toLowerCase();
  const fits: SessionView[][] = [[], [], []];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const query = {
      limit: pageSize,
      ...(shelf === "archived" && { archived: true }),
      ...(shelf === "trash" && { trashed: true }),
      ...(cursor !== undefined && { cursor }),
    };
    const listed = await client.listSessions({ query });
    if (!listed.ok) return listed;
    for (const session of listed.value.sessions)
      fits[matchRank(session, lowerCased)]?.push(session);
    if (listed.value.nextCursor === null) break;
    cursor = listed.value.nextCursor;
  }
  return { ok: true, sessions: fits.find((matches) => matches.length > 0) ?? [] };
}

/** 0 is the best match; 3 is none. */
function matchRank({ id, title }: SessionView, lowerCased: string): number {
  if (lowerCased.length >= minIdSuffix && id.endsWith(lowerCased)) return 0;
  const name = title?.toLowerCase() ?? "";
  if (name === lowerCased) return 1;
  return name.includes(lowerCased) ? 2 : 3;
}
