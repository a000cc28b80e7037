const firstTime = Date.UTC(2026, 1, 3, 4, 5, 6);

export type Line = Readonly<Record<string, unknown>>;

/** A session's file, as Claude Code writes it: each line follows the one before, unless it says otherwise. */
export class ClaudeCodeFile {
  readonly lines: Line[] = [];
  readonly #session: string;
  #last: string | null = null;

  constructor(session: string, copied: readonly Line[] = []) {
    this.#session = session;
    this.lines.push(...copied.map((line) => ({ ...line, sessionId: session })));
  }

  add(uuid: string, fields: Line): this {
    const at = firstTime + Number(/\d+$/.exec(uuid)?.[0] ?? this.lines.length) * 1_000;
    this.lines.push({
      parentUuid: this.#last,
      isSidechain: false,
      cwd: "/home/ada/boat",
      gitBranch: "main",
      sessionId: this.#session,
      version: "2.1.0",
      uuid,
      timestamp: new Date(at).toISOString(),
      ...fields,
    });
    this.#last = uuid;
    return this;
  }

  user(uuid: string, content: unknown, more: Line = {}): this {
    return this.add(uuid, { type: "user", message: { role: "user", content }, ...more });
  }

  /** One block of an answer: each has a line, and each line the whole usage. */
  answer(uuid: string, id: string, block: unknown, more: Line = {}): this {
    const usage = {
      input_tokens: 10,
      output_tokens: 5,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 7,
    };
    const message = { id, role: "assistant", model: "claude-x", content: [block], usage };
    return this.add(uuid, { type: "assistant", requestId: `req ${id}`, message, ...more });
  }

  plain(line: Line): this {
    this.lines.push(line);
    return this;
  }

  text(): string {
    return this.lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  }
}

export const result = (call: string, content: unknown, more: Line = {}) => [
  { type: "tool_result", tool_use_id: call, content, ...more },
];

/** One of each thing that sessions are known to have. */
export function everyClaudeCodeLine(session: string): ClaudeCodeFile {
  return new ClaudeCodeFile(session)
    .plain({ type: "file-history-snapshot", messageId: "x", snapshot: {} })
    .user("cc-0", "Caveat: local commands follow.", { isMeta: true })
    .user("cc-1", "<command-name>/init</command-name><command-args>now</command-args>")
    .user("cc-2", [
      { type: "text", text: "Fix the leak" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
    ])
    .answer("cc-3", "m1", { type: "thinking", thinking: "Where?" })
    .answer("cc-4", "m1", { type: "text", text: "Looking." })
    .answer("cc-5", "m1", { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } })
    .answer(
      "cc-6",
      "m1",
      { type: "tool_use", id: "t2", name: "Read", input: {} },
      { parentUuid: "cc-5" },
    )
    .user("cc-7", result("t1", "hull\nmast"), {
      parentUuid: "cc-5",
      toolUseResult: { stdout: "hull\nmast" },
    })
    .user("cc-8", result("t2", [{ type: "text", text: "no such file" }], { is_error: true }), {
      parentUuid: "cc-6",
    })
    .answer("cc-9", "m2", { type: "tool_use", id: "t3", name: "Task", input: {} })
    .user("cc-10", "[Request interrupted by user]")
    .add("cc-11", {
      type: "system",
      subtype: "compact_boundary",
      content: "Conversation compacted",
      parentUuid: null,
      logicalParentUuid: "cc-10",
    })
    .user("cc-12", "This session is being continued: a leak.", { isCompactSummary: true })
    .user("cc-13", "Go on")
    .answer("cc-14", "m3", { type: "text", text: "Fixed." })
    .plain({ type: "hologram", sessionId: session, depth: 3 })
    .plain({ type: "summary", summary: "The leak", leafUuid: "cc-14" });
}
