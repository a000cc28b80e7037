import { DatabaseSync } from "node:sqlite";
import { z } from "zod";

import {
  asRole,
  isSummary,
  type Message,
  newMessage,
  readCalls,
  reasoningOf,
  rowContent,
  toMilliseconds,
} from "./message.ts";
import { flag, number, parseJson, record, text } from "../reading/json.ts";

const sessionRow = z.object({
  id: z.string(),
  source: text,
  user_id: text,
  model: text,
  model_config: text,
  parent_session_id: text,
  started_at: number,
  ended_at: number,
  end_reason: text,
  input_tokens: number,
  output_tokens: number,
  cache_read_tokens: number,
  cache_write_tokens: number,
  estimated_cost_usd: number,
  actual_cost_usd: number,
  title: text,
  archived: flag,
  pinned: flag,
  hidden: flag,
  cwd: text,
  session_key: text,
  chat_id: text,
  chat_type: text,
  thread_id: text,
  rowid: number,
});
/** Newer versions count each model of a session by itself. */
const modelUsageRow = z.object({
  session_id: z.string(),
  model: z.string(),
  input_tokens: number,
  output_tokens: number,
  cache_read_tokens: number,
  cache_write_tokens: number,
  estimated_cost_usd: number,
  actual_cost_usd: number,
});
export type ModelUsage = z.infer<typeof modelUsageRow>;

export type StoredSession = z.infer<typeof sessionRow> & {
  readonly models: readonly ModelUsage[];
  readonly branchedFrom: string | null;
  readonly delegatedFrom: string | null;
  readonly resetFrom: string | null;
};

const messageRow = z.object({
  id: z.number(),
  role: z.string().catch(""),
  content: z.unknown().optional(),
  tool_call_id: text,
  tool_calls: text,
  tool_name: text,
  timestamp: number,
  model: text,
  reasoning: text,
  reasoning_content: text,
  observed: flag,
  active: z.number().nullish().catch(1),
  compacted: flag,
  display_kind: text,
  _compressed_summary: flag,
  display_identity: text,
});

/** One row, with what the order of a conversation depends on. */
export interface StoredMessage {
  readonly row: number;
  readonly message: Message;
  /** Taken back: neither live nor summarised away. */
  readonly undone: boolean;
}

export type StoredRow =
  | StoredMessage
  | { readonly row: number; readonly leftOut: "bookkeeping" }
  | { readonly row: number; readonly unknown: string };

export interface RowProblem {
  readonly row: number;
  readonly kind: "broken_text" | "broken_tool_calls";
  readonly bytes: Uint8Array;
}

/** A copy of a `state.db`, of any version: read by the columns that it has. */
export class HermesDatabase {
  readonly #database: DatabaseSync;

  constructor(file: string) {
    this.#database = new DatabaseSync(file, { readOnly: true });
  }

  close(): void {
    this.#database.close();
  }

  has(table: string): boolean {
    return this.#columns(table).size > 0;
  }

  sessions(): readonly StoredSession[] {
    const columns = this.#columns("sessions");
    if (!columns.has("id")) return [];
    const wanted = Object.keys(sessionRow.shape).filter((name) => columns.has(name));
    const order = columns.has("started_at") ? "started_at, id" : "id";
    const rows = this.#all(`SELECT rowid, ${wanted.join(", ")} FROM sessions ORDER BY ${order}`);
    const usage = this.#modelUsage();
    return rows.flatMap((row) => {
      const read = sessionRow.safeParse(row).data;
      if (read === undefined) return [];
      const config = record.parse(parseJson(read.model_config ?? "{}"));
      const marker = (name: string): string | null => {
        const value = config[name];
        return typeof value === "string" && value !== "" ? value : null;
      };
      return [
        {
          ...read,
          models: usage.get(read.id) ?? [],
          branchedFrom: marker("_branched_from"),
          delegatedFrom: marker("_delegate_from"),
          resetFrom: marker("_reset_from"),
        },
      ];
    });
  }

  #modelUsage(): ReadonlyMap<string, readonly ModelUsage[]> {
    const found = new Map<string, ModelUsage[]>();
    for (const row of this.table("session_model_usage")) {
      const read = modelUsageRow.safeParse(row).data;
      if (read === undefined) continue;
      const known = found.get(read.session_id);
      if (known === undefined) found.set(read.session_id, [read]);
      else known.push(read);
    }
    return found;
  }

  /** How many messages each session has. */
  counts(): ReadonlyMap<string, number> {
    if (!this.#columns("messages").has("session_id")) return new Map();
    const rows = this.#all(
      "SELECT session_id AS id, count(*) AS count FROM messages GROUP BY session_id",
    );
    const row = z.object({ id: z.string(), count: z.number() });
    return new Map(
      rows.flatMap((each) => {
        const read = row.safeParse(each).data;
        return read === undefined ? [] : [[read.id, read.count] as const];
      }),
    );
  }

  /** In the order of their rows: times aren't reliable. */
  messages(session: string, problem: (problem: RowProblem) => void): readonly StoredRow[] {
    const columns = this.#columns("messages");
    const wanted = Object.keys(messageRow.shape).filter((name) => columns.has(name));
    const statement = this.#database.prepare(
      `SELECT ${wanted.join(", ")} FROM messages WHERE session_id = ? ORDER BY id`,
    );
    const rows: StoredRow[] = [];
    for (const raw of statement.iterate(session)) {
      const row = readRow(raw, problem);
      if (row !== null) rows.push(row);
    }
    return rows;
  }

  /** All rows of a small table, if it is there. */
  table(
    name:
      | "telegram_dm_topic_bindings"
      | "gateway_routing"
      | "compression_locks"
      | "state_meta"
      | "session_model_usage",
  ) {
    return this.has(name) ? this.#all(`SELECT * FROM ${name}`) : [];
  }

  #all(sql: string): readonly unknown[] {
    return this.#database.prepare(sql).all();
  }

  #columns(table: string): ReadonlySet<string> {
    const rows = this.#database.prepare("SELECT name FROM pragma_table_info(?)").all(table);
    return new Set(rows.map((row) => String(row["name"])));
  }
}

function readRow(raw: unknown, problem: (problem: RowProblem) => void): StoredRow | null {
  const read = messageRow.safeParse(raw).data;
  if (read === undefined) return null;
  const { id: row, _compressed_summary: isMarkedSummary } = read;
  if (read.role === "session_meta") return { row, leftOut: "bookkeeping" };
  const role = asRole(read.role);
  if (role === null) return { row, unknown: JSON.stringify(raw) };
  if (read.display_kind != null && read.display_kind !== "") return { row, leftOut: "bookkeeping" };
  const content = rowContent(readText(read.content, row, problem));
  const parsed =
    read.tool_calls == null || read.tool_calls === "" ? [] : parseJson(read.tool_calls);
  const calls = parsed === undefined ? null : readCalls(parsed);
  if (calls === null)
    problem({ row, kind: "broken_tool_calls", bytes: Buffer.from(read.tool_calls ?? "") });
  const live = read.active ?? 1;
  const message = newMessage({
    ...content,
    role,
    calls: calls ?? [],
    brokenCalls: calls === null ? (read.tool_calls ?? null) : null,
    callId: role === "tool" ? (read.tool_call_id ?? null) : null,
    toolName: read.tool_name ?? null,
    reasoning: reasoningOf(read.reasoning, read.reasoning_content),
    at: toMilliseconds(read.timestamp),
    model: read.model ?? null,
    summary: isMarkedSummary || isSummary(content.text),
    observed: read.observed,
    identity: read.display_identity ?? null,
    where: ["db"],
  });
  return { row, message, undone: live === 0 && !read.compacted };
}

function readText(value: unknown, row: number, problem: (problem: RowProblem) => void): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Uint8Array) {
    const decoded = new TextDecoder().decode(value);
    if (decoded.includes("\uFFFD")) problem({ row, kind: "broken_text", bytes: value });
    return decoded;
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}
