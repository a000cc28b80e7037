import { z } from "zod";

import type { Report } from "../reading/folder.ts";
import { amount, list, record, textIn } from "../reading/json.ts";
import type { ImportedEntry, ImportedPart, ImportedUsage } from "../source.ts";
import { cleanText, messageOf, noticeOf, timeOf, unansweredCalls } from "../transcript/entries.ts";
import { contentParts, isContext, outputOf, pictureOf, type RolloutRecord } from "./record.ts";

export interface RolloutEntries {
  readonly entries: readonly ImportedEntry[];
  readonly usage: readonly ImportedUsage[];
  readonly from: number;
  readonly to: number;
}

export function entriesOf(
  records: readonly RolloutRecord[],
  { path, report }: { readonly path: string; readonly report: Report },
): RolloutEntries {
  return new RolloutWriter(records, path, report).run();
}

/** Events that say what items say as well, or nothing to a person. */
const silentEvents: ReadonlySet<string> = new Set([
  "user_message",
  "agent_message",
  "agent_reasoning",
  "agent_reasoning_raw_content",
  "agent_reasoning_section_break",
  "task_started",
  "task_complete",
  "turn_started",
  "turn_complete",
  "context_compacted",
  "entered_review_mode",
  "exited_review_mode",
  "item_started",
  "item_completed",
  "exec_command_begin",
  "exec_command_end",
  "patch_apply_begin",
  "patch_apply_end",
  "mcp_tool_call_begin",
  "mcp_tool_call_end",
  "web_search_begin",
  "web_search_end",
  "view_image_tool_call",
  "image_generation_end",
  "sub_agent_activity",
  "thread_name_updated",
  "thread_settings_applied",
  "thread_goal_updated",
]);
const silentItems: ReadonlySet<string> = new Set([
  "ghost_snapshot",
  "compaction",
  "compaction_summary",
  "compaction_trigger",
  "other",
]);

const totals = z.object({
  input_tokens: amount,
  cached_input_tokens: amount,
  output_tokens: amount,
});
type Totals = z.infer<typeof totals>;
const nothing: Totals = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 };

class RolloutWriter {
  readonly #records: readonly RolloutRecord[];
  readonly #path: string;
  readonly #report: Report;
  readonly #entries: ImportedEntry[] = [];
  readonly #open = new Map<string, string>();
  /** Where each turn of the person that is in view begins. */
  #turns: number[] = [];
  readonly #used = new Map<string, ImportedUsage>();
  #counted: Totals = nothing;
  #model = "";
  #first = 0;
  #last = 0;
  readonly #unknownKinds = new Set<string>();

  constructor(records: readonly RolloutRecord[], path: string, report: Report) {
    this.#records = records;
    this.#path = path;
    this.#report = report;
  }

  run(): RolloutEntries {
    // Some versions wrote events alone.
    const hasItems = this.#records.some(
      ({ kind, payload }) => kind === "item" && payload["type"] === "message",
    );
    for (const each of this.#records) {
      const at = timeOf(each.timestamp) ?? timeOf(each.payload["timestamp"]);
      if (at !== null) {
        if (this.#first === 0) this.#first = at;
        this.#last = Math.max(this.#last, at);
      }
      this.#record(each, hasItems);
    }
    this.#giveUp();
    const usage = [...this.#used.values()].filter(
      ({ input, output, cacheRead }) => input + output + cacheRead > 0,
    );
    return { entries: this.#entries, usage, from: this.#first, to: this.#last };
  }

  #record(each: RolloutRecord, hasItems: boolean): void {
    const { kind, payload } = each;
    switch (kind) {
      case "meta":
      case "state":
        return;
      case "turn":
        if (typeof payload["model"] === "string") this.#model = payload["model"];
        return;
      case "compacted":
        this.#compacted(payload);
        return;
      case "item":
        this.#item(payload);
        return;
      case "event":
        this.#event(payload, hasItems);
        return;
      case "other":
        this.#unknown(each.type, payload);
    }
  }

  #item(payload: Record<string, unknown>): void {
    const type = textIn(payload["type"]);
    const call = textIn(payload["call_id"] ?? payload["id"]);
    switch (type) {
      case "message":
        this.#message(payload);
        return;
      case "reasoning":
        this.#reasoning(payload);
        return;
      case "function_call":
      case "custom_tool_call":
      case "tool_search_call": {
        const given = payload["arguments"] ?? payload["input"];
        const input = typeof given === "string" ? given : JSON.stringify(given ?? {});
        const name = payload["name"];
        this.#call(call, typeof name === "string" ? name : type.replace(/_call$/u, ""), input);
        return;
      }
      case "local_shell_call":
        this.#call(call, "shell", JSON.stringify(payload["action"] ?? {}));
        return;
      case "function_call_output":
      case "custom_tool_call_output":
        this.#output(call, payload["output"]);
        return;
      case "tool_search_output":
        this.#output(call, JSON.stringify(payload["tools"] ?? null));
        return;
      case "web_search_call":
        // It has no output of its own.
        this.#call(
          call === "" ? `search ${this.#entries.length}` : call,
          "web_search",
          JSON.stringify(payload["action"] ?? {}),
        );
        return;
      case "image_generation_call": {
        const { result } = payload;
        if (typeof result !== "string" || result === "") return;
        this.#say("assistant", [pictureOf(`data:image/png;base64,${result}`, 1)]);
        return;
      }
      default:
        if (!silentItems.has(type)) this.#unknown(type, payload);
    }
  }

  #message({ role, content }: Record<string, unknown>): void {
    const parts = contentParts(content, (value) => this.#unknown("content", value));
    const said = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
    if (role === "user" && !isContext(said)) {
      if (parts.length === 0) return;
      this.#giveUp();
      this.#turns.push(this.#entries.length);
      this.#say("user", parts);
    } else if (role === "assistant") {
      if (parts.length > 0) this.#say("assistant", parts);
    } else if (said !== "") this.#notice("system", said);
  }

  #reasoning({ summary, content }: Record<string, unknown>): void {
    const texts = [...list.parse(summary), ...list.parse(content)].flatMap((value) => {
      const { text } = record.parse(value);
      return typeof text === "string" && text !== "" ? [text] : [];
    });
    // The rest of it is encrypted for the model's provider.
    if (texts.length > 0) this.#say("assistant", [{ type: "reasoning", text: texts.join("\n\n") }]);
  }

  #call(call: string, name: string, input: string): void {
    const last = this.#entries.at(-1);
    const part: ImportedPart = { type: "tool_call", call, name, input };
    // Calls of one answer that run side by side are one message, and their results follow.
    if (last?.type === "message" && last.role === "assistant" && this.#open.size > 0)
      this.#entries[this.#entries.length - 1] = messageOf(
        { role: "assistant", at: last.at, where: this.#path, model: last.model },
        [...last.parts, part],
      );
    else this.#say("assistant", [part]);
    this.#open.set(call, name);
  }

  #output(call: string, output: unknown): void {
    const { text, isError, files } = outputOf(output);
    const name = this.#open.get(call);
    if (name === undefined) {
      if (text !== "") this.#notice("card", text);
      return;
    }
    this.#open.delete(call);
    const outcome = isError ? "failed" : "ok";
    const result: ImportedPart = { type: "tool_result", call, name, outcome, output: text };
    const about = { role: "tool", at: this.#last, where: this.#path } as const;
    this.#entries.push(messageOf(about, [result, ...files]));
  }

  #event(payload: Record<string, unknown>, hasItems: boolean): void {
    const type = textIn(payload["type"]);
    const { message, text } = payload;
    switch (type) {
      case "token_count":
        this.#count(payload);
        return;
      case "thread_rolled_back":
        this.#rollBack(payload["num_turns"]);
        return;
      case "turn_aborted":
        this.#giveUp();
        this.#notice("card", `The turn was stopped (${textIn(payload["reason"]) || "unknown"}).`);
        return;
      case "error":
      case "warning":
      case "stream_error":
        if (typeof message === "string" && message !== "") this.#notice("card", message);
        return;
      default:
    }
    if (!silentEvents.has(type)) this.#unknown(type, payload);
    if (hasItems) return;
    if (type === "user_message" && typeof message === "string" && message !== "") {
      this.#giveUp();
      this.#turns.push(this.#entries.length);
      this.#say("user", [{ type: "text", text: message }]);
    } else if (type === "agent_message" && typeof message === "string" && message !== "")
      this.#say("assistant", [{ type: "text", text: message }]);
    else if (type === "agent_reasoning" && typeof text === "string" && text !== "")
      this.#say("assistant", [{ type: "reasoning", text }]);
  }

  #rollBack(given: unknown): void {
    const count = typeof given === "number" && given > 0 ? Math.floor(given) : 0;
    const from = this.#turns.at(-Math.min(count, this.#turns.length));
    if (count === 0 || from === undefined) return;
    this.#giveUp();
    this.#turns = this.#turns.filter((at) => at < from);
    this.#entries.push({ type: "undo", from, reason: "undo" });
  }

  /** Codex keeps the messages of the person, and says the rest in its own words, if it says it readably. */
  #compacted({ message }: Record<string, unknown>): void {
    this.#giveUp();
    const text = typeof message === "string" ? cleanText(message) : "";
    const isSaid = (at: number): boolean => {
      const type = this.#entries[at]?.type;
      return type === "message" || type === "notice";
    };
    const shown = this.#inView().filter(isSaid);
    const [from] = shown;
    const to = shown.at(-1);
    if (text === "" || from === undefined || to === undefined)
      this.#notice("card", "The context was compacted.");
    else this.#entries.push({ type: "summary", from, to, text });
  }

  #inView(): number[] {
    const shown: number[] = [];
    for (const [at, entry] of this.#entries.entries()) {
      if (entry.type === "undo") while ((shown.at(-1) ?? -1) >= entry.from) shown.pop();
      else shown.push(at);
    }
    return shown;
  }

  #count({ info }: Record<string, unknown>): void {
    const total = totals.safeParse(record.parse(info)["total_token_usage"]).data;
    if (total === undefined) return;
    // What was counted before is in it, unless it began anew.
    const isReset = total.input_tokens < this.#counted.input_tokens;
    const before = isReset ? nothing : this.#counted;
    this.#counted = total;
    const model = this.#model === "" ? "unknown" : this.#model;
    const known = this.#used.get(model);
    const cached = Math.max(0, total.cached_input_tokens - before.cached_input_tokens);
    const input = Math.max(0, total.input_tokens - before.input_tokens - cached);
    this.#used.set(model, {
      type: "usage",
      key: model,
      at: this.#last,
      model,
      input: (known?.input ?? 0) + Math.round(input),
      output:
        (known?.output ?? 0) + Math.round(Math.max(0, total.output_tokens - before.output_tokens)),
      cacheRead: (known?.cacheRead ?? 0) + Math.round(cached),
      cacheWrite: 0,
      costMicros: 0,
    });
  }

  #say(role: "user" | "assistant", parts: readonly ImportedPart[]): void {
    const isCall = parts.some(({ type }) => type === "tool_call");
    if (!isCall) this.#giveUp();
    const model = role === "assistant" && this.#model !== "" ? this.#model : undefined;
    this.#entries.push(messageOf({ role, at: this.#last, where: this.#path, model }, parts));
  }

  #notice(role: "system" | "card", text: string): void {
    const about = { at: this.#last, where: this.#path, kind: "codex_notice" };
    this.#entries.push(noticeOf(role, about, text));
  }

  #giveUp(): void {
    if (this.#open.size === 0) return;
    this.#entries.push(unansweredCalls(this.#open, { at: this.#last, program: "Codex" }));
    this.#open.clear();
  }

  /** Each kind once. */
  #unknown(type: string, value: unknown): void {
    if (this.#unknownKinds.has(type)) return;
    this.#unknownKinds.add(type);
    this.#report({
      code: "unknown_row",
      outcome: "skipped",
      path: this.#path,
      text: `Lines of an unknown kind were left out (${type.slice(0, 80)}); the first one was kept.`,
      bytes: Buffer.from(JSON.stringify(value ?? null)),
    });
  }
}
