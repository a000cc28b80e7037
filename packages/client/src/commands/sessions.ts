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
/** Where only some may be told of, they are looked for among so many. */
const maxScanned = 200;

/** Commands that lead from one session to another, or tell of them. */
export async function newSession(place: CommandContext, title: string): Promise<CommandAnswer> {
  const { client, sessionId, lane } = place;
  const begun = await client.createSession({
    headers: idempotencyHeader(place),
    body: {
      ...(title !== "" && { title }),
      ...(lane !== undefined && { lane }),
      ...(sessionId !== null && { previousSessionId: sessionId }),
    },
  });
  if (!begun.ok) return refusalFrom(begun.error);
  return { kind: "moved", how: "begun", session: begun.value.session };
}

export async function listSessions(place: CommandContext, words: string): Promise<CommandAnswer> {
  const { client, sessionId: current } = place;
  const limit = place.mayReach === undefined ? maxListed : maxScanned;
  const query = { limit, ...(words !== "" && { q: words.slice(0, 200) }) };
  const found = await client.listSessions({ query });
  if (!found.ok) return refusalFrom(found.error);
  const all = await filterReachable(place, found.value.sessions, ({ id }) => id);
  const sessions = all.slice(0, maxListed);
  if (words !== "" && sessions.length === 0)
    return refuseCommand(
      "session_not_found",
      `No session holds “${words}”. /sessions lists them all.`,
    );
  return { kind: "sessions", sessions, current, why: "listed" };
}

export async function resumeSession(place: CommandContext, asked: string): Promise<CommandAnswer> {
  if (asked === "")
    return place.sessionId === null ? listSessions(place, "") : resumeInterruptedRun(place);
  const found = await findSessions(place.client, asked);
  if (!found.ok) return refusalFrom(found.error);
  const sessions = await filterReachable(place, found.sessions, ({ id }) => id);
  const [session, ...others] = sessions;
  if (session === undefined)
    return refuseCommand("session_not_found", `No session fits “${asked}”. /sessions lists them.`);
  if (others.length > 0) {
    const { sessionId: current } = place;
    return { kind: "sessions", sessions: sessions.slice(0, maxListed), current, why: "which" };
  }
  return { kind: "moved", how: "resumed", session };
}

/** Alone it means the answer that was broken off here; where there is none, it shows where one could go. */
async function resumeInterruptedRun(place: CommandContext): Promise<CommandAnswer> {
  if (place.sessionId === null) return listSessions(place, "");
  const read = await readCurrentSession({ ...place, sessionId: place.sessionId });
  if (!read.ok) return refusalFrom(read.error);
  const { run } = read.value;
  if (!isInterrupted(run)) return listSessions(place, "");
  const resumed = await place.client.resumeRun({
    params: { id: run.id },
    headers: idempotencyHeader(place),
  });
  if (!resumed.ok) return refusalFrom(resumed.error);
  const { id: runId, sessionId } = resumed.value.run;
  return { kind: "sent", how: "continued", sessionId, runId, messageId: null };
}

function isInterrupted(run: RunView | null): run is RunView {
  if (run === null) return false;
  return run.state === "paused" || (terminalStates.has(run.state) && run.state !== "completed");
}

export async function branch(place: SessionCommandContext, title: string): Promise<CommandAnswer> {
  const branched = await place.client.branch({
    params: { id: place.sessionId },
    headers: idempotencyHeader(place),
    body: title === "" ? {} : { title },
  });
  if (!branched.ok) return refusalFrom(branched.error);
  return { kind: "moved", how: "branched", session: branched.value.session };
}

export async function sessionStatus(place: SessionCommandContext): Promise<CommandAnswer> {
  const read = await readCurrentSession(place);
  if (!read.ok) return refusalFrom(read.error);
  const asked = await place.client.listApprovals({ query: { sessionId: place.sessionId } });
  if (!asked.ok) return refusalFrom(asked.error);
  const { session, run, inbox } = read.value;
  return { kind: "status", session, run, inbox, approvals: asked.value.approvals };
}

/** The session without its conversation. */
export function readCurrentSession({
  client,
  sessionId: id,
}: SessionCommandContext): Promise<Result<SessionRead>> {
  return client.readSession({ params: { id }, query: { limit: 1 } });
}

export async function searchSessions(place: CommandContext, words: string): Promise<CommandAnswer> {
  const found = await place.client.search({ query: { q: words.slice(0, 200), limit: maxListed } });
  if (!found.ok) return refusalFrom(found.error);
  const hits = await filterReachable(place, found.value.hits, ({ sessionId }) => sessionId);
  return { kind: "hits", words, hits };
}

/** The end of an id, which tells sessions apart where their beginnings, being times, look alike. */
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
 * The sessions that a person may mean: by a whole id, by the end of one, by a title, or by words of a title. What fits
 * better leaves out what fits less.
 */
export async function findSessions(
  client: Client,
  asked: string,
  shelf: "active" | "archived" | "trash" = "active",
): Promise<FoundSessions> {
  const whole = sessionIdSchema.safeParse(asked);
  if (whole.success) {
    const read = await client.readSession({ params: { id: whole.data }, query: { limit: 1 } });
    return read.ok ? { ok: true, sessions: [read.value.session] } : read;
  }
  const wanted = asked.toLowerCase();
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
    for (const session of listed.value.sessions) fits[matchRank(session, wanted)]?.push(session);
    if (listed.value.nextCursor === null) break;
    cursor = listed.value.nextCursor;
  }
  return { ok: true, sessions: fits.find((each) => each.length > 0) ?? [] };
}

/** 0 fits best; 3 does not fit. */
function matchRank({ id, title }: SessionView, wanted: string): number {
  if (wanted.length >= minIdSuffix && id.endsWith(wanted)) return 0;
  const name = title?.toLowerCase() ?? "";
  if (name === wanted) return 1;
  return name.includes(wanted) ? 2 : 3;
}
