import { terminalStates } from "@holdfast/protocol";
import { readHere } from "./sessions.ts";
import { type CommandAnswer, refusedBy } from "./answers.ts";
import { keyed, type SessionPlace } from "./command.ts";

const here = (place: SessionPlace) => ({ params: { id: place.sessionId }, headers: keyed(place) });

/** Commands on the conversation one is in. */
export async function undo(place: SessionPlace, turns: string): Promise<CommandAnswer> {
  const body = turns === "" ? {} : { turns: Number(turns) };
  const undone = await place.client.undo({ ...here(place), body });
  if (!undone.ok) return refusedBy(undone.error);
  return { kind: "changed", what: "undone", session: undone.value.session };
}

export async function redo(place: SessionPlace): Promise<CommandAnswer> {
  const redone = await place.client.redo({ ...here(place), body: {} });
  if (!redone.ok) return refusedBy(redone.error);
  return { kind: "changed", what: "redone", session: redone.value.session };
}

/** With no words the message is asked again as it was. */
export async function retry(place: SessionPlace, text: string): Promise<CommandAnswer> {
  const { sessionId } = place;
  const body = text === "" ? {} : { text };
  const asked = await place.client.retry({ ...here(place), body });
  if (!asked.ok) return refusedBy(asked.error);
  const { messageId, runId } = asked.value;
  return { kind: "sent", how: text === "" ? "retried" : "edited", sessionId, runId, messageId };
}

export async function compact(place: SessionPlace, focus: string): Promise<CommandAnswer> {
  const body = focus === "" ? {} : { focus };
  const asked = await place.client.compact({ ...here(place), body });
  if (!asked.ok) return refusedBy(asked.error);
  return { kind: "compacting", outcome: asked.value.outcome };
}

export async function say(
  place: SessionPlace,
  text: string,
  mode: "queue" | "steer",
): Promise<CommandAnswer> {
  const { client, sessionId, lane, key: clientId } = place;
  const body = { clientId, text, mode, ...(lane !== undefined && { lane }) };
  const sent = await client.sendMessage({ params: { id: sessionId }, body });
  if (!sent.ok) return refusedBy(sent.error);
  const { messageId, runId } = sent.value;
  return {
    kind: "sent",
    how: mode === "queue" ? "queued" : "steered",
    sessionId,
    runId,
    messageId,
  };
}

export async function showInbox(place: SessionPlace): Promise<CommandAnswer> {
  const read = await readHere(place);
  return read.ok ? { kind: "inbox", inbox: read.value.inbox } : refusedBy(read.error);
}

/** P6: a durable wish. Where nothing runs there is nothing to end. */
export async function stop(place: SessionPlace): Promise<CommandAnswer> {
  const read = await readHere(place);
  if (!read.ok) return refusedBy(read.error);
  const { run } = read.value;
  if (run === null || terminalStates.has(run.state)) return { kind: "stopped", run: null };
  const asked = await place.client.cancelRun({ params: { id: run.id }, headers: keyed(place) });
  return asked.ok ? { kind: "stopped", run: asked.value.run } : refusedBy(asked.error);
}

const mediaTypes = {
  md: "text/markdown",
  json: "application/json",
  html: "text/html",
} as const;

export async function exportSession(place: SessionPlace, chosen: string): Promise<CommandAnswer> {
  const format = chosen === "json" || chosen === "html" ? chosen : "md";
  const { client, sessionId: id } = place;
  const document = await client.exportSession({ params: { id }, query: { format } });
  if (!document.ok) return refusedBy(document.error);
  const mediaType = mediaTypes[format];
  return { kind: "document", name: `${id}.${format}`, mediaType, text: document.value };
}
