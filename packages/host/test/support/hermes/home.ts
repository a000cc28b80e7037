import { createHash } from "node:crypto";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** A message as hermes writes it to its database or its page's files. */
export interface HermesMessage {
  readonly role: string;
  readonly content: string;
  readonly calls?: readonly string[];
  readonly callId?: string;
  readonly reasoning?: string;
  /** `undone` and `compacted` are states of a row. */
  readonly state?: "undone" | "compacted";
  /** Of its row, beside the usual ones. */
  readonly columns?: Readonly<Record<string, string | number | Uint8Array>>;
  readonly [field: string]: unknown;
}

export const user = (content: string, more: Partial<HermesMessage> = {}): HermesMessage => ({
  role: "user",
  content,
  ...more,
});
export const assistant = (content: string, more: Partial<HermesMessage> = {}): HermesMessage => ({
  role: "assistant",
  content,
  ...more,
});
export const tool = (callId: string, content: string): HermesMessage => ({
  role: "tool",
  content,
  callId,
});

export const summaryText = (text: string): string =>
  `[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns follow.\n${text}\n\n--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---`;

const sessionColumns = {
  id: "TEXT PRIMARY KEY",
  source: "TEXT",
  user_id: "TEXT",
  model: "TEXT",
  model_config: "TEXT",
  parent_session_id: "TEXT",
  started_at: "REAL",
  ended_at: "REAL",
  end_reason: "TEXT",
  input_tokens: "INTEGER",
  output_tokens: "INTEGER",
  actual_cost_usd: "REAL",
  cwd: "TEXT",
  title: "TEXT",
  archived: "INTEGER DEFAULT 0",
};
const messageColumns = {
  id: "INTEGER PRIMARY KEY AUTOINCREMENT",
  session_id: "TEXT",
  role: "TEXT",
  content: "TEXT",
  tool_call_id: "TEXT",
  tool_calls: "TEXT",
  tool_name: "TEXT",
  timestamp: "REAL",
  reasoning: "TEXT",
  active: "INTEGER DEFAULT 1",
  compacted: "INTEGER DEFAULT 0",
};
/** What newer versions added. */
const newerSessionColumns = {
  system_prompt_hash: "TEXT",
  session_key: "TEXT",
  chat_id: "TEXT",
  chat_type: "TEXT",
  thread_id: "TEXT",
  origin_json: "TEXT",
  pinned: "INTEGER DEFAULT 0",
  last_read_at: "REAL",
  title_source: "TEXT",
};
const newestSessionColumns = {
  created_source: "TEXT",
  hidden: "INTEGER DEFAULT 0",
  tool_names: "TEXT",
  transport_profile: "TEXT",
};
const newerMessageColumns = {
  api_content: "TEXT",
  display_kind: "TEXT",
  display_metadata: "TEXT",
};
const newestMessageColumns = {
  _compressed_summary: "INTEGER",
  display_identity: "TEXT",
  display_order: "REAL",
};
const newerTables = `
  CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, content TEXT);
  CREATE TABLE gateway_routing (scope TEXT, session_key TEXT, entry_json TEXT);
  CREATE TABLE async_delegations (id TEXT PRIMARY KEY, session_id TEXT);
  CREATE TABLE session_model_usage (session_id TEXT, model TEXT, task TEXT DEFAULT '',
    input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
    cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0,
    estimated_cost_usd REAL DEFAULT 0, actual_cost_usd REAL DEFAULT 0);`;

/** Of a very old database, of the usual one, and of two newer versions. */
export type HermesSchema = "old" | "full" | "newer" | "newest";

/** What a very old database has. */
const oldColumns: ReadonlySet<string> = new Set([
  "id",
  "source",
  "started_at",
  "title",
  "session_id",
  "role",
  "content",
  "timestamp",
  "tool_calls",
  "tool_call_id",
]);

/** Writes homes in the formats of hermes-agent and its page. */
export class HermesHome {
  readonly root: string;
  readonly #database: DatabaseSync;
  #clock = 1_767_949_200;

  constructor(root: string, schema: HermesSchema = "full") {
    this.root = root;
    mkdirSync(root, { recursive: true });
    this.#database = new DatabaseSync(join(root, "state.db"));
    const isNewest = schema === "newest";
    const isNewer = schema === "newer" || isNewest;
    const columns = (...all: readonly Readonly<Record<string, string>>[]): string =>
      all
        .flatMap((each) => Object.entries(each))
        .filter(([name]) => schema !== "old" || oldColumns.has(name))
        .map(([name, type]) => `${name} ${type}`)
        .join(", ");
    const ofSessions = [
      sessionColumns,
      ...(isNewer ? [newerSessionColumns] : []),
      ...(isNewest ? [newestSessionColumns] : []),
    ];
    const ofMessages = [
      messageColumns,
      ...(isNewer ? [newerMessageColumns] : []),
      ...(isNewest ? [newestMessageColumns] : []),
    ];
    this.#database.exec(
      `PRAGMA journal_mode = WAL;
       CREATE TABLE sessions (${columns(...ofSessions)});
       CREATE TABLE messages (${columns(...ofMessages)});
       ${isNewer ? newerTables : ""}`,
    );
  }

  /** Statements of a case of its own. */
  sql(statements: string): void {
    this.#database.exec(statements);
  }

  /** Rows that are only in the write-ahead log stay there. */
  close(): void {
    this.#database.close();
  }

  /** Thousands of rows are written faster together. */
  inOneCommit(write: () => void): void {
    this.#database.exec("BEGIN");
    write();
    this.#database.exec("COMMIT");
  }

  /** The next time, in seconds. */
  now(): number {
    this.#clock += 1.5;
    return this.#clock;
  }

  /** Returns the time of each message. */
  session(
    id: string,
    row: Readonly<Record<string, string | number>>,
    messages: readonly HermesMessage[] = [],
  ): readonly number[] {
    this.insert("sessions", { id, source: "cli", started_at: this.now(), ...row });
    return this.rows(id, messages);
  }

  change(id: string, column: string, value: string | number): void {
    this.#database.prepare(`UPDATE sessions SET ${column} = ? WHERE id = ?`).run(value, id);
  }

  rows(id: string, messages: readonly HermesMessage[]): readonly number[] {
    return messages.map((message) => {
      const { role, content, calls, callId, reasoning, state, tool_calls: raw } = message;
      const timestamp = this.now();
      this.insert("messages", {
        session_id: id,
        role,
        content,
        timestamp,
        ...(calls && { tool_calls: JSON.stringify(callsOf(calls)) }),
        ...(typeof raw === "string" && { tool_calls: raw }),
        ...(callId !== undefined && { tool_call_id: callId }),
        ...(reasoning !== undefined && { reasoning }),
        ...message.columns,
        ...(state !== undefined && { active: 0, compacted: state === "compacted" ? 1 : 0 }),
      });
      return timestamp;
    });
  }

  /** Takes back the last rows of a session, as a rewind does. */
  undoLast(id: string, count: number): void {
    this.#database
      .prepare(
        `UPDATE messages SET active = 0 WHERE id IN
           (SELECT id FROM messages WHERE session_id = ? ORDER BY id DESC LIMIT ?)`,
      )
      .run(id, count);
  }

  insert(table: string, row: Readonly<Record<string, string | number | Uint8Array>>): void {
    const names = Object.keys(row);
    this.#database
      .prepare(
        `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
      )
      .run(...Object.values(row));
  }

  file(path: string, content: string | Uint8Array): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }

  link(path: string, to: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    symlinkSync(to, join(this.root, path));
  }

  sidecarText(id: string, fields: object, messages: readonly HermesMessage[]): string {
    const said = messages.map(({ calls, callId, ...message }) => ({
      ...message,
      ...(calls && { tool_calls: callsOf(calls) }),
      ...(callId !== undefined && { tool_call_id: callId }),
    }));
    const about = { session_id: id, created_at: this.now(), updated_at: this.now() };
    return JSON.stringify({ ...about, ...fields, messages: said }, null, 2);
  }

  sidecar(id: string, fields: object, messages: readonly HermesMessage[]): void {
    this.file(`webui/sessions/${id}.json`, this.sidecarText(id, fields, messages));
  }

  /** `more` stands as it is behind the events. */
  runJournal(
    id: string,
    stream: string,
    events: readonly (readonly [string, object])[],
    more = "",
  ): void {
    const lines = events.map(([event, payload], index) =>
      JSON.stringify({
        version: 1,
        event_id: `${stream}:${index + 1}`,
        seq: index + 1,
        run_id: stream,
        session_id: id,
        event,
        created_at: this.now(),
        payload,
      }),
    );
    this.file(`webui/sessions/_run_journal/${id}/${stream}.jsonl`, `${lines.join("\n")}\n${more}`);
  }

  turnJournal(id: string, stream: string, content: string): void {
    const created = { created_at: this.now(), version: 1, session_id: id };
    const event = { event: "submitted", stream_id: stream, role: "user", content, ...created };
    this.file(`webui/sessions/_turn_journal/${id}~7.jsonl`, `${JSON.stringify(event)}\n`);
  }
}

function callsOf(ids: readonly string[]): object[] {
  return ids.map((id) => ({
    id,
    call_id: id,
    type: "function",
    function: { name: "terminal", arguments: JSON.stringify({ command: `run ${id}` }) },
  }));
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
