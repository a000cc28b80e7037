import type { EntryView, Part, SessionView } from "@holdfast/protocol";
import { seq, sessionId } from "@holdfast/protocol";
import type { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { McpCaller } from "./caller.ts";
import { isoTime, resultOf, toolResult } from "./tool-result.ts";

const limit = z.int().min(1).max(100).optional();
const cursor = z.string().min(1).max(500).optional().describe("next_cursor of the page before");
const readOnly = { readOnlyHint: true, openWorldHint: false } as const;
const defaultLimit = 20;
/** A tool's output may be a whole file; a reader who needs all of it has the resource. */
const maxToolOutputLength = 2_000;

/** Listing, searching and reading: only what the caller's principal owns. */
export function registerSessionTools(server: McpServer, { client }: McpCaller): void {
  server.registerTool(
    "sessions_list",
    {
      title: "List sessions",
      description: "Lists conversations with this Holdfast agent, the most recent first.",
      inputSchema: z.object({
        limit,
        cursor,
        archived: z.boolean().optional().describe("List archived sessions instead"),
      }),
      annotations: readOnly,
    },
    async ({ limit: count = defaultLimit, cursor: after, archived }) =>
      resultOf(
        client.listSessions({
          query: {
            limit: count,
            ...(after !== undefined && { cursor: after }),
            ...(archived !== undefined && { archived }),
          },
        }),
        ({ sessions, nextCursor }) =>
          toolResult(
            sessions.length === 0 ? "There are no sessions." : sessions.map(sessionLine).join("\n"),
            { sessions: sessions.map(viewSession), next_cursor: nextCursor },
          ),
      ),
  );

  server.registerTool(
    "sessions_search",
    {
      title: "Search sessions",
      description: "Finds words in the messages of all sessions.",
      inputSchema: z.object({ query: z.string().min(1).max(200), limit, cursor }),
      annotations: readOnly,
    },
    async ({ query, limit: count = defaultLimit, cursor: after }) =>
      resultOf(
        client.search({
          query: { q: query, limit: count, ...(after !== undefined && { cursor: after }) },
        }),
        ({ hits, nextCursor }) =>
          toolResult(
            hits.length === 0
              ? "Nothing was found."
              : hits
                  .map((hit) => `${hit.sessionId} (${hit.title ?? "untitled"}): ${hit.snippet}`)
                  .join("\n"),
            {
              hits: hits.map((hit) => ({
                session_id: hit.sessionId,
                title: hit.title,
                seq: hit.seq,
                at: isoTime(hit.at),
                snippet: hit.snippet,
              })),
              next_cursor: nextCursor,
            },
          ),
      ),
  );

  server.registerTool(
    "session_read",
    {
      title: "Read a session",
      description:
        "Reads the newest messages of a session and the state of its run. For older ones pass `earlier` as `before`.",
      inputSchema: z.object({ session_id: sessionId, limit, before: seq.optional() }),
      annotations: readOnly,
    },
    async ({ session_id: id, limit: count = defaultLimit, before }) =>
      resultOf(
        client.readSession({
          params: { id },
          query: { limit: count, ...(before !== undefined && { before }) },
        }),
        ({ session, entries, run, earlier }) =>
          toolResult(
            [sessionLine(session), ...entries.map(entryText).filter((text) => text !== "")].join(
              "\n\n",
            ),
            {
              session: viewSession(session),
              run: run === null ? null : { run_id: run.id, state: run.state, cause: run.cause },
              messages: entries.flatMap(viewEntry),
              earlier,
            },
          ),
      ),
  );
}

function viewSession(session: SessionView) {
  return {
    session_id: session.id,
    title: session.title,
    preview: session.preview,
    messages: session.messageCount,
    last_activity: isoTime(session.activityAt),
    run_id: session.liveRun,
    run_state: session.liveState ?? session.lastState,
    uri: `holdfast://session/${session.id}`,
  };
}

function sessionLine({ id, title, preview, messageCount, activityAt }: SessionView): string {
  return `${id} ${isoTime(activityAt)} ${title ?? preview} (${messageCount} messages)`;
}

function viewEntry(entry: EntryView) {
  if (entry.type !== "message") return [];
  const { seq: at, role, messageId, runId, parts, superseded } = entry;
  return [
    {
      seq: at,
      role,
      message_id: messageId,
      ...(runId !== undefined && { run_id: runId }),
      ...(superseded === true && { superseded }),
      text: parts.map(partText).join(""),
      at: isoTime(entry.at),
    },
  ];
}

function entryText(entry: EntryView): string {
  switch (entry.type) {
    case "message":
      return `[${entry.role}] ${entry.parts.map(partText).join("")}`;
    case "notice":
      return `[notice] ${entry.text}`;
    case "compaction":
      return `[summary of what came before] ${entry.summary}`;
    case "epoch":
      return "";
  }
}

function partText(part: Part): string {
  switch (part.type) {
    case "text":
    case "notice":
      return part.text;
    case "tool_call":
      return `\n(calls ${part.name} ${shorten(JSON.stringify(part.input))})`;
    case "tool_result":
      return `(${part.name}: ${part.outcome}) ${shorten(part.output)}`;
    case "file":
    case "image":
      return `\n(attached: ${part.name ?? part.mediaType})`;
    case "reasoning":
    case "attached":
      return "";
  }
}

function shorten(text: string): string {
  if (text.length <= maxToolOutputLength) return text;
  return `${text.slice(0, maxToolOutputLength)}… (${text.length} characters)`;
}
