import type { Reads, Tool } from "@holdfast/engine";
import {
  decodeEvent,
  type OwnerId,
  type Seq,
  type SessionId,
  type TodoItem,
} from "@holdfast/protocol";
import { z } from "zod";

import { defineTool, failed, ok } from "./define-tool.ts";

const maxItems = 50;
/** As stored in the tool's result. */
const maxBytes = 10 * 1024;
const pageSize = 100;
const maxPages = 20;

const input = z.strictObject({
  items: z
    .array(
      z.strictObject({
        text: z.string().min(1).max(400),
        state: z.enum(["open", "doing", "done"]),
      }),
    )
    .max(maxItems)
    .optional()
    .describe("The whole list; without it the list is shown."),
});

/**
 * The session's todo list. It is stored in this tool's own results, so it is as durable as the conversation, and an
 * undo reverts it too.
 */
export function createTodo(reads: Pick<Reads, "entries">): Tool {
  return defineTool({
    name: "todo",
    description: "Keeps this session's to-do list: replaces or shows it.",
    input,
    replay: "safe",
    asks: "none",
    onlyReads: true,
    async run({ items }, { owner, session }) {
      const todos = items ?? (await readTodos(reads, owner, session));
      if (Buffer.byteLength(JSON.stringify(todos)) > maxBytes)
        return failed(`The list is longer than ${maxBytes} bytes.`);
      return { ...ok(formatTodos(todos)), details: { todos: [...todos] } };
    },
  });
}

const marks = { open: "[ ]", doing: "[~]", done: "[x]" } as const;

function formatTodos(todos: readonly TodoItem[]): string {
  if (todos.length === 0) return "The list is empty.";
  return todos.map(({ text, state }) => `${marks[state]} ${text}`).join("\n");
}

/** The newest visible list. */
async function readTodos(
  reads: Pick<Reads, "entries">,
  owner: OwnerId,
  session: SessionId,
): Promise<readonly TodoItem[]> {
  let before: Seq | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const query = { limit: pageSize, ...(before !== undefined && { before }) };
    const found = await reads.entries(owner, session, query);
    for (const entry of (found?.entries ?? []).toReversed()) {
      const decoded = entry.type === "message.tool" ? decodeEvent(entry) : null;
      if (decoded?.kind !== "known" || decoded.event.type !== "message.tool") continue;
      for (const part of decoded.event.data.parts)
        if (part.type === "tool_result" && part.name === "todo" && part.details?.todos)
          return part.details.todos;
    }
    before = found?.entries[0]?.seq;
    if (found?.more !== true || before === undefined) break;
  }
  return [];
}
