const firstTime = Date.UTC(2026, 2, 4, 5, 6, 7);

export type Payload = Readonly<Record<string, unknown>>;

/** A rollout's file, as Codex writes it. */
export class CodexFile {
  readonly lines: unknown[] = [];

  add(type: string, payload: Payload): this {
    const timestamp = new Date(firstTime + this.lines.length * 1_000).toISOString();
    this.lines.push({ timestamp, type, payload });
    return this;
  }

  meta(id: string, more: Payload = {}): this {
    return this.add("session_meta", {
      id,
      cwd: "/home/ada/boat",
      git: { branch: "main" },
      ...more,
    });
  }

  message(role: string, text: string): this {
    const type = role === "assistant" ? "output_text" : "input_text";
    return this.add("response_item", { type: "message", role, content: [{ type, text }] });
  }

  item(payload: Payload): this {
    return this.add("response_item", payload);
  }

  event(type: string, payload: Payload = {}): this {
    return this.add("event_msg", { type, ...payload });
  }

  usage(input: number, cached: number, output: number): this {
    const total = { input_tokens: input, cached_input_tokens: cached, output_tokens: output };
    return this.event("token_count", { info: { total_token_usage: total } });
  }

  text(): string {
    return this.lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  }
}

/** One of each thing that rollouts are known to have. */
export function everyCodexLine(id: string): CodexFile {
  return new CodexFile()
    .meta(id)
    .message("developer", "<permissions instructions>none</permissions instructions>")
    .message("user", "<environment_context>\n  <cwd>/home/ada/boat</cwd>\n</environment_context>")
    .add("turn_context", { model: "gpt-5-codex", cwd: "/home/ada/boat" })
    .message("user", "Fix the leak")
    .event("user_message", { message: "Fix the leak" })
    .item({
      type: "reasoning",
      summary: [{ type: "summary_text", text: "Where?" }],
      encrypted_content: "x",
    })
    .item({ type: "function_call", name: "shell", arguments: '{"command":["ls"]}', call_id: "c1" })
    .item({
      type: "custom_tool_call",
      name: "apply_patch",
      input: "*** Begin Patch",
      call_id: "c2",
    })
    .item({
      type: "function_call_output",
      call_id: "c1",
      output: '{"output":"hull","metadata":{"exit_code":1}}',
    })
    .item({ type: "custom_tool_call_output", call_id: "c2", output: "ok" })
    .usage(100, 40, 10)
    .usage(100, 40, 10)
    .message("assistant", "Fixed.")
    .event("agent_message", { message: "Fixed." })
    .message("user", "Undo me")
    .message("assistant", "Undone.")
    .event("thread_rolled_back", { num_turns: 1 })
    .add("compacted", { message: "A leak was fixed.", replacement_history: [] })
    .message("user", "Go on")
    .item({ type: "local_shell_call", call_id: "c3", action: { type: "exec", command: ["ls"] } })
    .event("turn_aborted", { reason: "interrupted" })
    .item({ type: "hologram", depth: 3 })
    .usage(150, 60, 30);
}
