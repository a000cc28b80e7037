import { terminalStates } from "@holdfast/protocol";
import { readCurrentSession } from "./sessions.ts";
import {
  type CommandAnswer,
  refusalFrom,
  refuseCommand,
  idempotencyHeader,
  type SessionCommandContext,
} from "./command.ts";

const routeArguments = (context: SessionCommandContext) => ({
  params: { id: context.sessionId },
  headers: idempotencyHeader(context),
});

/** Commands on the current conversation. */
export async function undo(context: SessionCommandContext, turns: string): Promise<CommandAnswer> {
  const body = turns === "" ? {} : { turns: Number(turns) };
  const undone = await context.client.undo({ ...routeArguments(context), body });
  if (!undone.ok) return refusalFrom(undone.error);
  return { kind: "changed", what: "undone", session: undone.value.session };
}

export async function redo(context: SessionCommandContext): Promise<CommandAnswer> {
  const redone = await context.client.redo({ ...routeArguments(context), body: {} });
  if (!redone.ok) return refusalFrom(redone.error);
  return { kind: "changed", what: "redone", session: redone.value.session };
}

/** Without new text the message is asked again unchanged. */
export async function retryMessage(
  context: SessionCommandContext,
  text: string,
): Promise<CommandAnswer> {
  const { sessionId } = context;
  const body = text === "" ? {} : { text };
  const retried = await context.client.retry({ ...routeArguments(context), body });
  if (!retried.ok) return refusalFrom(retried.error);
  const { messageId, runId } = retried.value;
  return { kind: "sent", how: text === "" ? "retried" : "edited", sessionId, runId, messageId };
}

/** Lists them, or shows the one with this number. */
export async function listOrSwitchAlternatives(
  context: SessionCommandContext,
  number: string,
): Promise<CommandAnswer> {
  const { client, sessionId: id } = context;
  const listed = await client.listAlternatives({ params: { id } });
  if (!listed.ok) return refusalFrom(listed.error);
  const { turns } = listed.value;
  if (number === "") return { kind: "alternatives", turns };
  const chosen = turns.flatMap(({ alternatives }) => alternatives)[Number(number) - 1];
  if (chosen === undefined)
    return refuseCommand(
      "entry_not_found",
      `There is no version ${number} here. /alternatives lists them.`,
    );
  const body = { messageId: chosen.messageId };
  const switched = await client.switchAlternative({ ...routeArguments(context), body });
  if (!switched.ok) return refusalFrom(switched.error);
  return { kind: "changed", what: "switched", session: switched.value.session };
}

export async function compactSession(
  context: SessionCommandContext,
  focus: string,
): Promise<CommandAnswer> {
  const body = focus === "" ? {} : { focus };
  const compacted = await context.client.compact({ ...routeArguments(context), body });
  if (!compacted.ok) return refusalFrom(compacted.error);
  return { kind: "compacting", outcome: compacted.value.outcome };
}

export async function sendMessage(
  context: SessionCommandContext,
  text: string,
  mode: "queue" | "steer",
): Promise<CommandAnswer> {
  const { client, sessionId, lane, key: clientId } = context;
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

export async function showInbox(context: SessionCommandContext): Promise<CommandAnswer> {
  const read = await readCurrentSession(context);
  return read.ok ? { kind: "inbox", inbox: read.value.inbox } : refusalFrom(read.error);
}

/** P6: a durable request. If no run is live there is nothing to cancel. */
export async function cancelRun(context: SessionCommandContext): Promise<CommandAnswer> {
  const read = await readCurrentSession(context);
  if (!read.ok) return refusalFrom(read.error);
  const { run } = read.value;
  if (run === null || terminalStates.has(run.state)) return { kind: "stopped", run: null };
  const cancelled = await context.client.cancelRun({
    params: { id: run.id },
    headers: idempotencyHeader(context),
  });
  return cancelled.ok
    ? { kind: "stopped", run: cancelled.value.run }
    : refusalFrom(cancelled.error);
}

export async function stopWaiting(context: SessionCommandContext): Promise<CommandAnswer> {
  const stopped = await context.client.stopWaiting({ ...routeArguments(context), body: {} });
  if (!stopped.ok) return refusalFrom(stopped.error);
  return { kind: "given_up", settled: stopped.value.settled };
}

const mediaTypes = {
  md: "text/markdown",
  json: "application/json",
  html: "text/html",
} as const;

export async function exportSession(
  context: SessionCommandContext,
  chosen: string,
): Promise<CommandAnswer> {
  const format = chosen === "json" || chosen === "html" ? chosen : "md";
  const { client, sessionId: id } = context;
  const document = await client.exportSession({ params: { id }, query: { format } });
  if (!document.ok) return refusalFrom(document.error);
  const mediaType = mediaTypes[format];
  return { kind: "document", name: `${id}.${format}`, mediaType, text: document.value };
}
