import { z } from "zod";

import type { Report } from "../reading/folder.ts";
import { amount } from "../reading/json.ts";
import type {
  ImportedEntry,
  ImportedPart,
  ImportedSession,
  ImportedUsage,
  Remark,
} from "../source.ts";
import {
  cleanText,
  messageOf,
  noticeOf,
  plainSession,
  unansweredCalls,
} from "../transcript/entries.ts";
import { type Placed, replay, type TranscriptNode } from "../transcript/replay.ts";
import {
  atOf,
  kindOf,
  partsOf,
  resultsOf,
  type SessionLine,
  shownText,
  textOf,
  type Unknown,
} from "./line.ts";

/** What one conversation is made of: the lines of its files, each once, in their order. */
export interface SessionLines {
  readonly key: string;
  /** The sessions that have its lines. */
  readonly ids: readonly string[];
  readonly path: string;
  readonly lines: readonly SessionLine[];
  /** An agent that another session started. */
  readonly childOf?: string;
}

export function sessionOf(given: SessionLines): ImportedSession | null {
  const { key, ids, path, childOf } = given;
  const remarks: Remark[] = [];
  const report: Report = (finding) => remarks.push({ ...finding, path, session: key });
  const turns = turnsOf(given.lines, report);
  const first = given.lines.map((line) => atOf(line, 0)).find((at) => at > 0) ?? 0;
  const writer = new TurnWriter(path, first, report);
  const nodes = turns.map((turn) => writer.write(turn));
  const newest = turns.findLast(({ lines }) => lines.length > 0);
  const { entries, shown } = replay(nodes, newest?.id ?? null);
  if (entries.length === 0) return null;
  reportPlaces(given.lines, report);
  const chosen = given.lines.findLast(({ customTitle }) => customTitle != null)?.customTitle;
  const generated = given.lines.findLast(({ aiTitle, summary }) => (aiTitle ?? summary) != null);
  const title = chosen ?? generated?.aiTitle ?? generated?.summary ?? null;
  return plainSession({
    key,
    ids,
    title: title === null ? null : cleanText(title),
    titleSource: chosen == null ? "generated" : "chosen",
    from: first,
    to: Math.max(first, writer.last),
    entries: [...entries, ...writer.usage()] as readonly ImportedEntry[],
    ...(shown !== undefined && { shown }),
    ...(childOf !== undefined && { childOf: { key: childOf } }),
    remarks,
  });
}

interface Turn {
  readonly id: string;
  readonly parent: string | null;
  readonly isPrompt: boolean;
  readonly lines: SessionLine[];
}

/**
 * A turn is a prompt and all lines that hang on it, in the order of the file: calls that run side by side make branches of
 * their own there. Prompts that follow the same turn are versions: the person went back and wrote another one.
 */
function turnsOf(lines: readonly SessionLine[], report: Report): readonly Turn[] {
  const turns: Turn[] = [];
  const turnOf = new Map<string, Turn>();
  let newest: Turn | null = null;
  for (const line of lines) {
    const { uuid } = line;
    if (uuid == null) continue;
    const kind = kindOf(line);
    const parent = line.parentUuid ?? line.logicalParentUuid ?? null;
    const above: Turn | null = parent === null ? null : (turnOf.get(parent) ?? newest);
    if (parent !== null && !turnOf.has(parent))
      report({
        code: "lost_parent",
        outcome: "damaged",
        path: "",
        text: `The entry before line ${JSON.stringify(uuid.slice(0, 80))} is missing, so the line was placed after the previous one.`,
      });
    // After a compaction, older versions began anew.
    const isRoot = parent === null && kind !== "prompt";
    const turn: Turn | null = isRoot ? newest : above;
    if (kind !== "prompt" && turn !== null) {
      turn.lines.push(line);
      turnOf.set(uuid, turn);
      continue;
    }
    const begun: Turn = {
      id: uuid,
      parent: turn?.id ?? null,
      isPrompt: kind === "prompt",
      lines: [line],
    };
    turns.push(begun);
    turnOf.set(uuid, begun);
    newest = begun;
  }
  return turns;
}

const usage = z.object({
  input_tokens: amount,
  output_tokens: amount,
  cache_read_input_tokens: amount,
  cache_creation_input_tokens: amount,
});

class TurnWriter {
  last: number;
  readonly #path: string;
  readonly #report: Report;
  readonly #open = new Map<string, string>();
  /** By the message's id: each of its lines repeats it. */
  readonly #used = new Map<
    string,
    { readonly model: string; readonly used: z.infer<typeof usage> }
  >();
  readonly #names = new Map<string, string>();
  #entries: Placed[] = [];
  /** Lines of one answer are one message. */
  #answer: {
    readonly id: string;
    readonly model: string;
    readonly at: number;
    parts: ImportedPart[];
  } | null = null;

  constructor(path: string, first: number, report: Report) {
    this.#path = path;
    this.last = first;
    this.#report = report;
  }

  write({ id, parent, isPrompt, lines }: Turn): TranscriptNode {
    this.#entries = [];
    for (const line of lines) this.#line(line);
    this.#endAnswer();
    this.#giveUp();
    return { id, parent, isPrompt, entries: this.#entries };
  }

  usage(): readonly ImportedUsage[] {
    const totals = new Map<string, ImportedUsage>();
    for (const { model, used } of this.#used.values()) {
      const known = totals.get(model);
      totals.set(model, {
        type: "usage",
        key: model,
        at: this.last,
        model,
        input: (known?.input ?? 0) + Math.round(used.input_tokens),
        output: (known?.output ?? 0) + Math.round(used.output_tokens),
        cacheRead: (known?.cacheRead ?? 0) + Math.round(used.cache_read_input_tokens),
        cacheWrite: (known?.cacheWrite ?? 0) + Math.round(used.cache_creation_input_tokens),
        costMicros: 0,
      });
    }
    return [...totals.values()].filter(
      (total) => total.input + total.output + total.cacheRead + total.cacheWrite > 0,
    );
  }

  #line(line: SessionLine): void {
    const at = atOf(line, this.last);
    this.last = Math.max(this.last, at);
    const where = this.#path;
    const content = line.type === "system" ? line.content : line.message?.content;
    const kind = kindOf(line);
    if (kind !== "answer" && kind !== "none") this.#endAnswer();
    switch (kind) {
      case "prompt": {
        this.#giveUp();
        const parts = partsOf(content, this.#unknown);
        // A version begins with what the person said, if that is nothing as well.
        const own: ImportedPart[] = parts.length > 0 ? parts : [{ type: "text", text: "" }];
        this.#entries.push(messageOf({ role: "user", at, where }, own));
        break;
      }
      case "answer":
        this.#answerLine(line, at);
        break;
      case "results":
        this.#results(content, at);
        break;
      case "summary":
        this.#giveUp();
        this.#entries.push({ type: "summary", from: 0, to: 0, text: cleanText(textOf(content)) });
        break;
      case "context":
      case "card": {
        const text = kind === "context" ? textOf(content) : shownText(content);
        if (text === "") break;
        const role = kind === "context" ? "system" : "card";
        this.#entries.push(noticeOf(role, { at, where, kind: "claude_code_notice" }, text));
        break;
      }
      case "none":
        break;
    }
  }

  #answerLine({ message, uuid, isApiErrorMessage }: SessionLine, at: number): void {
    if (message == null) return;
    const model = message.model ?? "";
    const id = message.id ?? uuid ?? "";
    const used = usage.safeParse(message.usage).data;
    const isReal = model !== "" && model !== "<synthetic>";
    if (used !== undefined && isReal) this.#used.set(id, { model, used });
    const where = this.#path;
    if (isApiErrorMessage || model === "<synthetic>") {
      this.#endAnswer();
      const text = textOf(message.content);
      if (text !== "")
        this.#entries.push(noticeOf("card", { at, where, kind: "claude_code_notice" }, text));
      return;
    }
    if (this.#answer?.id !== id) this.#endAnswer();
    const parts = partsOf(message.content, this.#unknown);
    // A call that is written again has its result already.
    const fresh = parts.filter((part) => part.type !== "tool_call" || !this.#names.has(part.call));
    this.#answer ??= { id, model, at, parts: [] };
    this.#answer.parts.push(...fresh);
    for (const part of fresh) if (part.type === "tool_call") this.#names.set(part.call, part.name);
  }

  #endAnswer(): void {
    const answer = this.#answer;
    this.#answer = null;
    if (answer === null || answer.parts.length === 0) return;
    this.#giveUp();
    const { at, model, parts } = answer;
    this.#entries.push(messageOf({ role: "assistant", at, where: this.#path, model }, parts));
    for (const part of parts) if (part.type === "tool_call") this.#open.set(part.call, part.name);
  }

  #results(content: unknown, at: number): void {
    const where = this.#path;
    for (const { call, isError, output, files } of resultsOf(content, this.#unknown)) {
      const name = this.#open.get(call);
      if (name === undefined) {
        // Given twice, or to a call that isn't there: the person saw it.
        if (output !== "")
          this.#entries.push(noticeOf("card", { at, where, kind: "tool_output" }, output));
      } else {
        this.#open.delete(call);
        const outcome = isError ? "failed" : "ok";
        const result: ImportedPart = { type: "tool_result", call, name, outcome, output };
        this.#entries.push(messageOf({ role: "tool", at, where }, [result, ...files]));
      }
    }
    const text = textOf(content);
    if (text !== "")
      this.#entries.push(noticeOf("card", { at, where, kind: "claude_code_notice" }, text));
  }

  #giveUp(): void {
    if (this.#open.size === 0) return;
    this.#entries.push(unansweredCalls(this.#open, { at: this.last, program: "Claude Code" }));
    this.#open.clear();
  }

  readonly #unknown = ({ type, value }: Unknown): void => {
    this.#report({
      code: "unknown_row",
      outcome: "skipped",
      path: this.#path,
      text: `A message has a part of an unknown kind (${type.slice(0, 80)}).`,
      bytes: Buffer.from(JSON.stringify(value ?? null)),
    });
  };
}

function reportPlaces(lines: readonly SessionLine[], report: Report): void {
  const folders = new Set<string>();
  for (const { cwd, gitBranch } of lines)
    if (cwd != null && cwd !== "")
      folders.add(gitBranch == null || gitBranch === "" ? cwd : `${cwd} (branch ${gitBranch})`);
  for (const folder of [...folders].slice(0, maxFolders))
    report({
      code: "folder",
      outcome: "note",
      path: "",
      text: `It worked in ${cleanText(folder)}. An import does not allow folders.`,
    });
}

const maxFolders = 20;
