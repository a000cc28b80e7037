import { terminalStates } from "@holdfast/protocol";
import { readCurrentSession } from "./sessions.ts";
import {
  type CommandAnswer,
  refusalFrom,
  idempotencyHeader,
  type SessionCommandContext,
} from "./command.ts";

const routeArguments = (place: SessionCommandContext) => ({
  params: { id: place.sessionId },
  headers: idempotencyHeader(place),
});

/** Commands on the conversation one is in. */
export async function undo(place: SessionCommandContext, turns: string): Promise<CommandAnswer> {
  const body = turns === "" ? {} : { turns: Number(turns) };
  const undone = await place.client.undo({ ...routeArguments(place), body });
  if (!undone.ok) return refusalFrom(undone.error);
  return { kind: "changed", what: "undone", session: undone.value.session };
}

export async function redo(place: SessionCommandContext): Promise<CommandAnswer> {
  const redone = await place.client.redo({ ...routeArguments(place), body: {} });
  if (!redone.ok) return refusalFrom(redone.error);
  return { kind: "changed", what: "redone", session: redone.value.session };
}

/** With no words the message is asked again as it was. */
export async function retryMessage(
  place: SessionCommandContext,
  text: string,
): Promise<CommandAnswer> {
  const { sessionId } = place;
  const body = text === "" ? {} : { text };
  const asked = await place.client.retry({ ...routeArguments(place), body });
  if (!asked.ok) return refusalFrom(asked.error);
  const { messageId, runId } = asked.value;
  return { kind: "sent", how: text === "" ? "retried" : "edited", sessionId, runId, messageId };
}

export async function compactSession(
  place: SessionCommandContext,
  focus: string,
): Promise<CommandAnswer> {
  const body = focus === "" ? {} : { focus };
  const asked = await place.client.compact({ ...routeArguments(place), body });
  if (!asked.ok) return refusalFrom(asked.error);
  return { kind: "compacting", outcome: asked.value.outcome };
}

export async function sendMessage(
  place: SessionCommandContext,
  text: string,
  mode: "queue" | "steer",
): Promise<CommandAnswer> {
  const { client, sessionId, lane, key: clientId } = place;
  const body = { clientId, text, mode, ...(lane !== undefined && { lane }) };
  const sent = await client.sendMessage({ params: { id: sessionId }, body });
  if (!sent.ok) return refusalFrom(sent.error);
  const { messageId, runId } = sent.value;
  return {
    kind: "sent",
    how: mode === "queue" ? "queued" : "steered",
    sessionId,
    runId,
    messageId,
  };
}

export async function showInbox(place: SessionCommandContext): Promise<CommandAnswer> {
  const read = await readCurrentSession(place);
  return read.ok ? { kind: "inbox", inbox: read.value.inbox } : refusalFrom(read.error);
}

/** P6: a durable wish. Where nothing runs there is nothing to end. */
export async function cancelRun(place: SessionCommandContext): Promise<CommandAnswer> {
  const read = await readCurrentSession(place);
  if (!read.ok) return refusalFrom(read.error);
  const { run } = read.value;
  if (run === null || terminalStates.has(run.state)) return { kind: "stopped", run: null };
  const asked = await place.client.cancelRun({
    params: { id: run.id },
    headers: idempotencyHeader(place),
  });
  return asked.ok ? { kind: "stopped", run: asked.value.run } : refusalFrom(asked.error);
}

const mediaTypes = {
  md: "text/markdown",
  json: "application/json",
  html: "text/html",
} as const;

export async function exportSession(
  place: SessionCommandContext,
  chosen: string,
): Promise<CommandAnswer> {
  const format = chosen === "json" || chosen === "html" ? chosen : "md";
  const { client, sessionId: id } = place;
  const document = await client.exportSession({ params: { id }, query: { format } });
  if (!document.ok) return refusalFrom(document.error);
  const mediaType = mediaTypes[format];
  return { kind: "document", name: `${id}.${format}`, mediaType, text: document.value };
}
