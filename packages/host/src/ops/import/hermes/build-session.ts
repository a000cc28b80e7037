import { plural } from "@holdfast/protocol";

import type {
  ImportedEntry,
  ImportedMessage,
  ImportedPart,
  ImportedSession,
  ImportedUsage,
} from "../source.ts";
import type { Assembled, Line } from "./assemble.ts";
import type { Conversation } from "./conversations.ts";
import type { ModelUsage, StoredSession } from "./database.ts";
import type { Report } from "../reading/folder.ts";
import { mediaTypeOf } from "../reading/media-type.ts";
import { sha256 } from "../transcript/entries.ts";
import { comparable, type Message } from "./message.ts";
import type { PageFolder } from "./page-files.ts";

/** What branches of a session are compared with: its visible messages and their places among its entries. */
export interface OriginMessage {
  readonly key: string;
  readonly entry: number;
}

export interface BuildDeps {
  readonly page: PageFolder | null;
  readonly report: Report;
  readonly origin: readonly OriginMessage[] | null;
}

export interface BuiltSession {
  readonly entries: readonly ImportedEntry[];
  /** The origin's entry that it branches off behind; `null`: it has copies of its own. */
  readonly upTo: number | null;
  readonly visible: readonly OriginMessage[];
  readonly from: number;
  readonly to: number;
}

/** Turns the lines of a conversation into entries, in the order in which they are written. */
export async function buildEntries(
  { segments, rows }: Conversation,
  { lines, sidecar }: Assembled,
  deps: BuildDeps,
): Promise<BuiltSession> {
  return new EntryBuilder(segments, deps).build(lines, usageOf(rows, sidecar));
}

class EntryBuilder {
  readonly #segments: readonly string[];
  readonly #deps: BuildDeps;
  readonly #entries: ImportedEntry[] = [];
  readonly #visible: OriginMessage[] = [];
  /** Where each row's message stands. */
  readonly #places = new Map<number, number>();
  readonly #open = new Map<string, string>();
  #last = 0;
  #first: number | null = null;

  constructor(segments: readonly string[], deps: BuildDeps) {
    this.#segments = segments;
    this.#deps = deps;
  }

  async build(lines: readonly Line[], usage: readonly ImportedUsage[]): Promise<BuiltSession> {
    const { skip, upTo } = this.#sharedWithOrigin(lines);
    this.#last =
      lines.flatMap((line) => (line.kind === "message" ? (line.message.at ?? []) : []))[0] ?? 0;
    let hidden: { readonly from: number; readonly reason: "undo" | "clear" } | null = null;
    for (const line of lines.slice(skip)) {
      const reason = line.kind === "message" ? line.message.undone : null;
      if (hidden !== null && hidden.reason !== reason) {
        this.#hide(hidden);
        hidden = null;
      }
      if (line.kind === "summary") {
        this.#summarise(line);
        continue;
      }
      if (reason !== null) hidden ??= { from: this.#entries.length, reason };
      await this.#say(line.message);
    }
    this.#giveUpCalls();
    if (hidden !== null) this.#hide(hidden);
    const overheard = lines.filter((line) => line.kind === "message" && line.message.observed);
    if (overheard.length > 0)
      this.#remark(
        "overheard",
        `${plural(overheard.length, { one: "# message", other: "# messages" })} of a group not addressed to the agent.`,
      );
    for (const each of usage)
      this.#entries.push({ ...each, at: each.at === 0 ? this.#last : each.at });
    return {
      entries: this.#entries,
      upTo,
      visible: this.#visible,
      from: this.#first ?? this.#last,
      to: this.#last,
    };
  }

  /** A branch begins with copies: as far as they are the origin's messages, they are read from there. */
  #sharedWithOrigin(lines: readonly Line[]): { skip: number; upTo: number | null } {
    const { origin } = this.#deps;
    if (origin === null) return { skip: 0, upTo: null };
    let shared = 0;
    let skip = 0;
    for (const [index, line] of lines.entries()) {
      if (line.kind !== "message" || line.message.undone !== null) break;
      const next = origin[shared];
      if (next === undefined || next.key !== originKey(line.message)) break;
      shared += 1;
      skip = index + 1;
    }
    return { skip, upTo: shared === 0 ? null : (origin[shared - 1]?.entry ?? null) };
  }

  #hide({ from, reason }: { readonly from: number; readonly reason: "undo" | "clear" }): void {
    this.#giveUpCalls();
    for (let last = this.#visible.at(-1); last !== undefined && last.entry >= from;) {
      this.#visible.pop();
      last = this.#visible.at(-1);
    }
    this.#entries.push({ type: "undo", from, reason });
  }

  #summarise({ from, to, text }: Extract<Line, { kind: "summary" }>): void {
    const covered = [...this.#places].filter(([mark]) => mark >= from && mark <= to);
    const places = covered.map(([, place]) => place);
    if (places.length === 0) return;
    this.#giveUpCalls();
    this.#entries.push({
      type: "summary",
      from: Math.min(...places),
      to: Math.max(...places),
      text,
    });
  }

  async #say(message: Message): Promise<void> {
    const at = message.at ?? this.#last;
    this.#first = this.#first === null ? at : Math.min(this.#first, at);
    this.#last = Math.max(this.#last, at);
    if (message.role !== "tool" && !message.card) this.#giveUpCalls();
    const entry = this.#entries.length;
    if (message.mark !== null) this.#places.set(message.mark, entry);
    const role = message.card ? "card" : message.role;
    const proof = { role, sha256: sha256(message.text), where: message.where };
    if (message.role === "system" || message.card) {
      const noticeKind = message.card ? "hermes_notice" : "system_message";
      this.#entries.push({ type: "notice", noticeKind, at, text: message.text, proof });
      return;
    }
    this.#visible.push({ key: originKey(message), entry });
    const said: ImportedMessage = {
      type: "message",
      role: message.role,
      at,
      parts: await this.#parts(message),
      model: message.role === "assistant" ? (message.model ?? undefined) : undefined,
      partial: message.partial ?? undefined,
      proof,
    };
    this.#entries.push(said);
  }

  async #parts(message: Message): Promise<readonly ImportedPart[]> {
    const parts: ImportedPart[] = [];
    const { text, role } = message;
    if (message.reasoning !== "") parts.push({ type: "reasoning", text: message.reasoning });
    if (role === "tool") {
      const call = message.callId ?? "";
      this.#open.delete(call);
      const name = message.toolName ?? "tool";
      const outcome = message.failed ? "failed" : "ok";
      parts.push({ type: "tool_result", call, name, outcome, output: text });
    } else if (text !== "" || (message.calls.length === 0 && parts.length === 0))
      parts.push({ type: "text", text });
    for (const [index, { mediaType, bytes }] of message.pictures.entries())
      parts.push({ type: "image", name: `picture ${index + 1}`, mediaType, bytes });
    for (const name of message.links) {
      parts.push({ type: "missing", name });
      this.#remark("lost_picture", `A picture is not in this home: ${name.slice(0, 300)}`);
    }
    for (const name of message.attachments) parts.push(await this.#attachment(name));
    for (const { id, name, input } of message.calls) {
      parts.push({ type: "tool_call", call: id, name, input });
      this.#open.set(id, name);
    }
    const isLost = role === "user" && /\[screenshot\]/.test(text);
    if (isLost && message.pictures.length === 0 && message.attachments.length === 0)
      this.#remark("lost_picture", "A picture is gone: hermes stored the word [screenshot].");
    return parts;
  }

  async #attachment(name: string): Promise<ImportedPart> {
    const found = await this.#deps.page?.readAttachment(this.#segments, name);
    if (found == null) {
      this.#remark("missing_attachment", `The file ${JSON.stringify(name)} isn't there.`);
      return { type: "missing", name };
    }
    const mediaType = mediaTypeOf(found.name);
    const type = mediaType.startsWith("image/") ? "image" : "file";
    return { type, name: found.name, mediaType, bytes: found.bytes };
  }

  /** A call without a result gets one that says so: nobody runs it again. */
  #giveUpCalls(): void {
    if (this.#open.size === 0) return;
    const parts = [...this.#open].map(([call, name]): ImportedPart => ({
      type: "tool_result",
      call,
      name,
      outcome: "unknown",
      output: "hermes has no result of this call.",
    }));
    this.#remark(
      "unanswered_tool_call",
      `${parts.length === 1 ? "A tool call has" : `${parts.length} tool calls have`} no result; the outcome counts as unknown.`,
      "damaged",
    );
    this.#open.clear();
    const proof = { role: "added", sha256: sha256(""), where: [] };
    this.#entries.push({ type: "message", role: "tool", at: this.#last, parts, proof });
  }

  #remark(
    code: Parameters<Report>[0]["code"],
    text: string,
    outcome: "damaged" | "note" = "note",
  ): void {
    const session = this.#segments.at(-1);
    this.#deps.report({ code, outcome, path: "state.db", session, text });
  }
}

function originKey(message: Message): string {
  return `${message.role} ${sha256(comparable(message.text))}`;
}

/** Totals of each segment. Where the database has none, the page's last known ones. */
function usageOf(
  rows: Conversation["rows"],
  sidecar: Assembled["sidecar"],
): readonly ImportedUsage[] {
  const used = rows.flatMap(usageOfRow);
  if (used.length > 0 || sidecar === null) return used;
  const { input, output, cacheRead, cacheWrite, cost, model } = sidecar.usage;
  if (input + output + cost === 0) return [];
  return [
    {
      type: "usage",
      key: "page",
      at: 0,
      model: model ?? "unknown",
      input: count(input),
      output: count(output),
      cacheRead: count(cacheRead),
      cacheWrite: count(cacheWrite),
      costMicros: micros(cost),
    },
  ];
}

type Amounts = Pick<ImportedUsage, "input" | "output" | "cacheRead" | "cacheWrite" | "costMicros">;

function amountsOf(row: ModelUsage | StoredSession): Amounts {
  // A model's row has 0 where nothing is known.
  const cost = row.actual_cost_usd || row.estimated_cost_usd;
  return {
    input: count(row.input_tokens),
    output: count(row.output_tokens),
    cacheRead: count(row.cache_read_tokens),
    cacheWrite: count(row.cache_write_tokens),
    costMicros: micros(cost),
  };
}

const amountNames = ["input", "output", "cacheRead", "cacheWrite", "costMicros"] as const;

/** The total of a session row, of which other models have their own share where hermes says so. */
function usageOfRow(row: StoredSession): readonly ImportedUsage[] {
  const at = Math.round((row.ended_at ?? 0) * 1000);
  const rest = { ...amountsOf(row) };
  const shares = new Map<string, Amounts>();
  for (const each of row.models) {
    if (each.model === row.model) continue;
    const share = { ...(shares.get(each.model) ?? noAmounts) };
    const amounts = amountsOf(each);
    for (const name of amountNames) {
      share[name] += amounts[name];
      rest[name] = Math.max(0, rest[name] - amounts[name]);
    }
    shares.set(each.model, share);
  }
  const own = [row.id, row.model ?? "unknown", rest] as const;
  const others = [...shares].map(([model, share]) => [`${row.id} ${model}`, model, share] as const);
  return [own, ...others].flatMap(([key, model, amounts]) =>
    amountNames.every((name) => amounts[name] === 0)
      ? []
      : [{ type: "usage" as const, key, at, model, ...amounts }],
  );
}

const noAmounts: Amounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costMicros: 0 };

function count(value: number | null | undefined): number {
  return value != null && value > 0 && Number.isSafeInteger(Math.round(value))
    ? Math.round(value)
    : 0;
}

function micros(dollars: number | null | undefined): number {
  return count(dollars == null ? null : dollars * 1_000_000);
}

export type SessionFacts = Pick<
  ImportedSession,
  "title" | "titleSource" | "pinned" | "archived" | "tags"
>;

/** Both stores have these, and the page's are the person's. */
export function factsOf({ rows }: Conversation, { sidecar, runs }: Assembled): SessionFacts {
  const stored = rows.toReversed().find(({ title }) => title != null && title !== "")?.title;
  const fromPage = sidecar?.title != null && sidecar.title !== "" ? sidecar.title : null;
  // The page's name for what has no title: then the first message gives one.
  const isDefault = fromPage === "Untitled" || fromPage?.endsWith(" Session") === true;
  const fromRun = runs.findLast(({ title }) => title != null && title !== "")?.title;
  const title =
    (isDefault ? null : fromPage) ?? stored ?? (sidecar === null ? fromRun : null) ?? null;
  return {
    title,
    titleSource: sidecar?.isTitleChosen === true ? "chosen" : "generated",
    pinned: (sidecar?.pinned ?? false) || rows.some(({ pinned }) => pinned),
    archived: (sidecar?.archived ?? false) || (rows.at(-1)?.archived ?? false),
    tags: tagsIn(sidecar === null ? "" : (title ?? "")),
  };
}

const maxTags = 50;

function tagsIn(title: string): readonly string[] {
  const found = Array.from(
    title.matchAll(/(?<=^|\s)#([\p{L}\p{N}_-]{1,60})/gu),
    ([, tag = ""]) => tag,
  );
  return [...new Set(found)].slice(0, maxTags);
}
