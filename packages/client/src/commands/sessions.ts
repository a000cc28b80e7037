import type { Result } from "../client/call-route.ts";
import { terminalStates, type RunView, type SessionRead } from "@holdfast/protocol";
import { type CommandAnswer, refused, refusedBy } from "./answers.ts";
import { findSessions } from "./find-session.ts";
import { type CommandPlace, keyed, reachable, type SessionPlace } from "./command.ts";

const listed = 20;
/** Where only some may be told of, they are looked for among so many. */
const lookedAt = 200;

/** Commands that lead from one session to another, or tell of them. */
export async function beginSession(place: CommandPlace, title: string): Promise<CommandAnswer> {
  const { client, sessionId, lane } = place;
  const begun = await client.createSession({
    headers: keyed(place),
    body: {
      ...(title !== "" && { title }),
      ...(lane !== undefined && { lane }),
      ...(sessionId !== null && { previousSessionId: sessionId }),
    },
  });
  if (!begun.ok) return refusedBy(begun.error);
  return { kind: "moved", how: "begun", session: begun.value.session };
}

export async function listSessions(place: CommandPlace, words: string): Promise<CommandAnswer> {
  const { client, sessionId: current } = place;
  const limit = place.mayReach === undefined ? listed : lookedAt;
  const query = { limit, ...(words !== "" && { q: words.slice(0, 200) }) };
  const found = await client.listSessions({ query });
  if (!found.ok) return refusedBy(found.error);
  const all = await reachable(place, found.value.sessions, ({ id }) => id);
  const sessions = all.slice(0, listed);
  if (words !== "" && sessions.length === 0)
    return refused("session_not_found", `No session holds “${words}”. /sessions lists them all.`);
  return { kind: "sessions", sessions, current, why: "listed" };
}

export async function resume(place: CommandPlace, asked: string): Promise<CommandAnswer> {
  if (asked === "") return place.sessionId === null ? listSessions(place, "") : goOn(place);
  const found = await findSessions(place.client, asked);
  if (!found.ok) return refusedBy(found.error);
  const sessions = await reachable(place, found.sessions, ({ id }) => id);
  const [session, ...others] = sessions;
  if (session === undefined)
    return refused("session_not_found", `No session fits “${asked}”. /sessions lists them.`);
  if (others.length > 0) {
    const { sessionId: current } = place;
    return { kind: "sessions", sessions: sessions.slice(0, listed), current, why: "which" };
  }
  return { kind: "moved", how: "resumed", session };
}

/** Alone it means the answer that was broken off here; where there is none, it shows where one could go. */
async function goOn(place: CommandPlace): Promise<CommandAnswer> {
  if (place.sessionId === null) return listSessions(place, "");
  const read = await readHere({ ...place, sessionId: place.sessionId });
  if (!read.ok) return refusedBy(read.error);
  const { run } = read.value;
  if (!isBrokenOff(run)) return listSessions(place, "");
  const resumed = await place.client.resumeRun({ params: { id: run.id }, headers: keyed(place) });
  if (!resumed.ok) return refusedBy(resumed.error);
  const { id: runId, sessionId } = resumed.value.run;
  return { kind: "sent", how: "continued", sessionId, runId, messageId: null };
}

function isBrokenOff(run: RunView | null): run is RunView {
  if (run === null) return false;
  return run.state === "paused" || (terminalStates.has(run.state) && run.state !== "completed");
}

export async function branch(place: SessionPlace, title: string): Promise<CommandAnswer> {
  const branched = await place.client.branch({
    params: { id: place.sessionId },
    headers: keyed(place),
    body: title === "" ? {} : { title },
  });
  if (!branched.ok) return refusedBy(branched.error);
  return { kind: "moved", how: "branched", session: branched.value.session };
}

export async function status(place: SessionPlace): Promise<CommandAnswer> {
  const read = await readHere(place);
  if (!read.ok) return refusedBy(read.error);
  const asked = await place.client.listApprovals({ query: { sessionId: place.sessionId } });
  if (!asked.ok) return refusedBy(asked.error);
  const { session, run, inbox } = read.value;
  return { kind: "status", session, run, inbox, approvals: asked.value.approvals };
}

/** The session without its conversation. */
export function readHere({ client, sessionId: id }: SessionPlace): Promise<Result<SessionRead>> {
  return client.readSession({ params: { id }, query: { limit: 1 } });
}

export async function search(place: CommandPlace, words: string): Promise<CommandAnswer> {
  const found = await place.client.search({ query: { q: words.slice(0, 200), limit: listed } });
  if (!found.ok) return refusedBy(found.error);
  const hits = await reachable(place, found.value.hits, ({ sessionId }) => sessionId);
  return { kind: "hits", words, hits };
}
