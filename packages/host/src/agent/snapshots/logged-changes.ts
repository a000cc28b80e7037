import type { Reads } from "@holdfast/engine";
import {
  decodeEvent,
  type EventData,
  filesRestored,
  type Json,
  type LastingEffect,
  savedFiles,
  type SavedFiles,
  type Seq,
  type StoredEvent,
  type ToolResultPart,
  type UnsavedReason,
} from "@holdfast/protocol";
import { z } from "zod";

import type { NotSaved, SessionRef } from "./file-snapshots.ts";

/** The kind of the notice that says what was done with the files. */
export const restoredNotice = "files_restored";

/** What such a notice keeps for later undos. */
export const restoredDetails = z.looseObject({
  cause: z.enum(["undo", "redo", "switch"]),
  saved: savedFiles,
  files: filesRestored,
});

/** Changes of files that one call, or one restore, has recorded. Those of one step may have run at the same time. */
export interface LoggedChange {
  readonly step: number;
  readonly saved: SavedFiles;
}

export interface LoggedChanges {
  readonly changes: readonly LoggedChange[];
  readonly missing: ReadonlySet<UnsavedReason>;
  readonly notSaved: readonly NotSaved[];
  readonly effects: readonly LastingEffect[];
}

const pageSize = 500;
const maxEffects = 50;
const maxEffectLength = 200;

/** What the log of a session says about files after an event, oldest first. */
export async function readLoggedChanges(
  reads: Reads,
  { owner, session }: SessionRef,
  range: { readonly after: Seq; readonly upTo?: Seq | undefined },
): Promise<LoggedChanges> {
  const fold = new ChangesFold();
  let { after } = range;
  for (;;) {
    const upTo = range.upTo === undefined ? {} : { upTo: range.upTo };
    const page = await reads.events(owner, session, { after, ...upTo, limit: pageSize });
    for (const event of page?.events ?? []) fold.add(event);
    const last = page?.events.at(-1);
    if (page?.more !== true || last === undefined) return fold.result();
    after = last.seq;
  }
}

class ChangesFold {
  readonly #changes: LoggedChange[] = [];
  readonly #missing = new Set<UnsavedReason>();
  readonly #notSaved = new Map<string, NotSaved>();
  readonly #effects: LastingEffect[] = [];
  readonly #started = new Map<string, EventData<"tool.started">>();
  #step = 0;

  add(stored: StoredEvent): void {
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") return;
    const { event } = decoded;
    if (event.type === "message.assistant") this.#step += 1;
    if (event.type === "tool.started") this.#started.set(event.data.callId, event.data);
    if (event.type === "message.tool")
      for (const part of event.data.parts) if (part.type === "tool_result") this.#addResult(part);
    if (event.type !== "notice.added" || event.data.kind !== restoredNotice) return;
    const details = restoredDetails.safeParse(event.data.details);
    if (!details.success) return;
    this.#step += 1;
    this.#addSaved(details.data.saved);
    this.#step += 1;
  }

  result(): LoggedChanges {
    return {
      changes: this.#changes,
      missing: this.#missing,
      notSaved: [...this.#notSaved.values()],
      effects: this.#effects,
    };
  }

  #addResult({ callId, outcome, details }: ToolResultPart): void {
    const started = this.#started.get(callId);
    if (started === undefined) return;
    const effect = effectOf(started, details?.reached ?? []);
    if (effect !== null && this.#effects.length < maxEffects) this.#effects.push(effect);
    if (details?.saved !== undefined) this.#addSaved(details.saved);
    else if (outcome === "unknown" && changingTools.has(started.name))
      this.#missing.add("interrupted");
  }

  #addSaved(saved: SavedFiles): void {
    if (saved.changes !== undefined) this.#changes.push({ step: this.#step, saved });
    if (saved.missing !== undefined) this.#missing.add(saved.missing);
    for (const each of saved.notSaved ?? []) this.#notSaved.set(each.path, each);
  }
}

const changingTools = new Set(["terminal", "write_file", "edit_file", "apply_patch"]);

/** Tools of the host whose calls change nothing beyond the workspace and the log. */
const harmlessTools = new Set([
  ...changingTools,
  "read_file",
  "list_files",
  "glob",
  "grep",
  "fetch_url",
  "web_search",
  "activate_skill",
  "todo",
  "search_sessions",
  "ask_user",
  "submit_plan",
  "processes",
]);

const terminalInput = z.looseObject({
  command: z.union([z.string(), z.array(z.string())]).optional(),
  background: z.boolean().optional(),
});

/** What a call did that no undo of files takes back. */
function effectOf(
  { name, input }: EventData<"tool.started">,
  reached: readonly { readonly host: string; readonly outcome: string }[],
): LastingEffect | null {
  if (name === "terminal") {
    const { command = "", background } = terminalInput.safeParse(input).data ?? {};
    const text = shorten(typeof command === "string" ? command : command.join(" "));
    if (background === true) return { kind: "background", tool: name, text };
    const hosts = reached.filter(({ outcome }) => outcome === "reached").map(({ host }) => host);
    return hosts.length === 0
      ? null
      : { kind: "network", tool: name, text: shorten(`${text} (${hosts.join(", ")})`) };
  }
  if (harmlessTools.has(name)) return null;
  return { kind: effectKinds[name] ?? "tool", tool: name, text: shorten(textOfInput(input)) };
}

const effectKinds: Readonly<Record<string, LastingEffect["kind"]>> = {
  send_file: "sent",
  remember: "remembered",
  delegate: "delegated",
};

const mainArguments = ["path", "text", "title", "task", "url", "query", "name"];

/** The argument that says most; all of them if none does. */
function textOfInput(input: Json): string {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return "";
  const main = mainArguments.map((name) => input[name]).find((it) => typeof it === "string");
  if (typeof main === "string") return main;
  return Object.keys(input).length === 0 ? "" : JSON.stringify(input);
}

function shorten(text: string): string {
  return text.length > maxEffectLength ? `${text.slice(0, maxEffectLength - 1)}…` : text;
}
