import { createInterface, emitKeypressEvents } from "node:readline";
import { PassThrough } from "node:stream";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Input } from "../command.ts";
import type { Key } from "../screen/line-editor.ts";
import { completeInput, shortId } from "@holdfast/client";
import { sessionTitle } from "../transcript/describe.ts";
import type { ChatSession } from "./chat-session.ts";

/**
 * How long a lone escape may be the beginning of an arrow key. Node waits for half a second unless told, in which a person
 * who has pressed Esc types on, and loses what they typed.
 */
const escapeMs = 100;

/** Hears single keys until what it answers is called. */
export function listenToKeys(
  input: Input,
  onKey: (typed: string | undefined, key: Key) => void,
): () => void {
  // Only for its patience: it reads nothing.
  const patience = createInterface({ input: new PassThrough(), escapeCodeTimeout: escapeMs });
  emitKeypressEvents(input, patience);
  input.setRawMode?.(true);
  input.on("keypress", onKey);
  input.resume();
  return () => {
    input.off("keypress", onKey);
    input.setRawMode?.(false);
    input.pause();
    patience.close();
  };
}

export interface LineCompletion {
  readonly text: string;
  /** To choose from, where the text could go on in several ways. */
  readonly choices: readonly string[];
}

/** Goes on with a line as far as that is certain. */
export async function completeLine(
  text: string,
  conversation: Pick<ChatSession, "execute">,
): Promise<LineCompletion> {
  const { values, asks } = completeInput(text);
  if (asks?.what === "session") return completeSession(asks, text, conversation);
  if (asks?.what === "model") return completeModel(asks, text, conversation);
  const [only, ...others] = values;
  if (only === undefined) return { text, choices: [] };
  if (others.length === 0) return { text: only.includes(" ") ? only : `${only} `, choices: [] };
  return { text: commonStart(values), choices: values };
}

async function completeSession(
  { typed, before }: { typed: string; before: string },
  text: string,
  conversation: Pick<ChatSession, "execute">,
): Promise<LineCompletion> {
  const answer = await conversation.execute({ name: "sessions", argument: "" });
  if (answer.kind !== "sessions") return { text, choices: [] };
  const wanted = typed.toLowerCase();
  const fitting = answer.sessions.filter(
    (session) =>
      shortId(session.id).startsWith(wanted) ||
      sessionTitle(session).toLowerCase().includes(wanted),
  );
  const [only, ...others] = fitting;
  if (only !== undefined && others.length === 0)
    return { text: before + shortId(only.id), choices: [sessionTitle(only)] };
  return { text, choices: fitting.map((each) => `${shortId(each.id)} ${sessionTitle(each)}`) };
}

async function completeModel(
  { typed, before }: { typed: string; before: string },
  text: string,
  conversation: Pick<ChatSession, "execute">,
): Promise<LineCompletion> {
  const answer = await conversation.execute({ name: "model", argument: "" });
  if (answer.kind !== "model") return { text, choices: [] };
  const fitting = answer.models.filter((name) => name.startsWith(typed));
  if (fitting.length === 0) return { text, choices: [] };
  const choices = fitting.length === 1 ? [] : fitting;
  return { text: before + commonStart(fitting), choices };
}

function commonStart(values: readonly string[]): string {
  return values.reduce((start, value) => {
    let length = 0;
    while (length < start.length && start[length] === value[length]) length += 1;
    return start.slice(0, length);
  });
}

const historyLines = z.array(z.string());
const maxHistoryLines = 500;

/** What was typed before, newest last. It is the person's own, and kept for nobody else to read. */
export function readHistory(home: string): readonly string[] {
  try {
    return historyLines.safeParse(JSON.parse(readFileSync(historyFile(home), "utf8"))).data ?? [];
  } catch {
    return [];
  }
}

/** Of two chats at once the later one's lines come last; neither loses the other's. */
export function appendHistory(home: string, typed: string): void {
  const kept = [...readHistory(home).filter((line) => line !== typed), typed].slice(
    -maxHistoryLines,
  );
  const draft = `${historyFile(home)}.${process.pid}`;
  try {
    writeFileSync(draft, JSON.stringify(kept), { mode: 0o600 });
    renameSync(draft, historyFile(home));
  } catch {
    // A history that cannot be kept is no reason to stop talking.
  }
}

function historyFile(home: string): string {
  return join(home, "chat-history.json");
}
