import { type Seq, type SessionId, terminalStates } from "@holdfast/protocol";
import type { Client } from "../client/create-client.ts";
import type { RestoreCause } from "./describe-files.ts";
import { readCurrentSession } from "./sessions.ts";
import {
  type CommandAnswer,
  type FilesAnswer,
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
export async function undo(
  context: SessionCommandContext,
  argument: string,
): Promise<CommandAnswer> {
  const { client } = context;
  const { number, files } = readArgument(argument);
  const turns = number === null ? {} : { turns: number };
  if (files === "only") {
    const request = { ...routeArguments(context), body: turns };
    return filesAnswer("undo", "kept", await client.undoFiles(request));
  }
  const body = { ...turns, files };
  const undone = await client.undo({ ...routeArguments(context), body });
  if (files === "restore") return filesAnswer("undo", "changed", undone);
  if (!undone.ok) return refusalFrom(undone.error);
  return { kind: "changed", what: "undone", session: undone.value.session };
}

export async function redo(
  context: SessionCommandContext,
  argument: string,
): Promise<CommandAnswer> {
  const { client } = context;
  const { files } = readArgument(argument);
  if (files === "only")
    return filesAnswer(
      "redo",
      "kept",
      await client.redoFiles({ ...routeArguments(context), body: {} }),
    );
  const redone = await client.redo({ ...routeArguments(context), body: { files } });
  if (files === "restore") return filesAnswer("redo", "changed", redone);
  if (!redone.ok) return refusalFrom(redone.error);
  return { kind: "changed", what: "redone", session: redone.value.session };
}

/** A number, and whether files come with the conversation: `2 files only`. */
function readArgument(argument: string): {
  readonly number: number | null;
  readonly files: "keep" | "restore" | "only";
} {
  const [, number = "", option = ""] = /^(\d*) ?(.*)$/.exec(argument) ?? [];
  const files = option === "" ? "keep" : option === "files" ? "restore" : "only";
  return { number: number === "" ? null : Number(number), files };
}

type Changed = Awaited<ReturnType<SessionCommandContext["client"]["undo"]>>;

function filesAnswer(
  cause: RestoreCause,
  conversation: FilesAnswer["conversation"],
  result: Changed,
): CommandAnswer {
  if (!result.ok) return refusalFrom(result.error);
  const { session, files = { restored: [], count: 0, kept: [] } } = result.value;
  return { kind: "files", cause, conversation, files, session };
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
  argument: string,
): Promise<CommandAnswer> {
  const { client, sessionId: id } = context;
  const { number, files } = readArgument(argument);
  const listed = await client.listAlternatives({ params: { id } });
  if (!listed.ok) return refusalFrom(listed.error);
  const { turns } = listed.value;
  if (number === null) return { kind: "alternatives", turns };
  const chosen = turns.flatMap(({ alternatives }) => alternatives)[number - 1];
  if (chosen === undefined)
    return refuseCommand(
      "entry_not_found",
      `There is no version ${number} here. /alternatives lists them.`,
    );
  const { messageId, left } = chosen;
  const body = { messageId, files: files === "keep" ? files : "restore" } as const;
  const switched = await client.switchAlternative({ ...routeArguments(context), body });
  if (files !== "keep") return filesAnswer("switch", "changed", switched);
  if (!switched.ok) return refusalFrom(switched.error);
  const count = await countOtherFiles(client, id, left);
  return count > 0
    ? { kind: "files_left", number, count }
    : { kind: "changed", what: "switched", session: switched.value.session };
}

/** How many files are not as a version had them when it was left. */
export async function countOtherFiles(
  client: Pick<Client, "readFileChanges">,
  id: SessionId,
  left: Seq | undefined,
): Promise<number> {
  if (left === undefined) return 0;
  const read = await client.readFileChanges({ params: { id }, query: { from: left } });
  return read.ok ? read.value.files.filter(({ undo: plan }) => plan === "restore").length : 0;
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
