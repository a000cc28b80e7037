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
 * How long a lone escape may be the start of an arrow key. Node's default is half a second, in which a person who
 * pressed Esc types on and loses what they typed.
 */
const escapeTimeoutMs = 100;

/** Listens to single keys until the returned function is called. */
export function listenToKeys(
  input: Input,
  onKey: (typed: string | undefined, key: Key) => void,
): () => void {
  // Only for its escape timeout: it reads nothing.
  const timing = createInterface({ input: new PassThrough(), escapeCodeTimeout: escapeTimeoutMs });
  emitKeypressEvents(input, timing);
  input.setRawMode?.(true);
  input.on("keypress", onKey);
  input.resume();
  return () => {
    input.off("keypress", onKey);
    input.setRawMode?.(false);
    input.pause();
    timing.close();
  };
}

export interface LineCompletion {
  readonly text: string;
  /** To choose from, if there are several completions. */
  readonly choices: readonly string[];
}

/** Completes a line as far as it is unambiguous. */
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
  return { text: commonPrefix(values), choices: values };
}

async function completeSession(
  { typed, before }: { typed: string; before: string },
  text: string,
  conversation: Pick<ChatSession, "execute">,
): Promise<LineCompletion> {
  const answer = await conversation.execute({ name: "sessions", argument: "" });
  if (answer.kind !== "sessions") return { text, choices: [] };
  const query = typed.toLowerCase();
  const matches = answer.sessions.filter(
    (session) =>
      shortId(session.id).startsWith(query) || sessionTitle(session).toLowerCase().includes(query),
  );
  const [only, ...others] = matches;
  if (only !== undefined && others.length === 0)
    return { text: before + shortId(only.id), choices: [sessionTitle(only)] };
  return {
    text,
    choices: matches.map((session) => `${shortId(session.id)} ${sessionTitle(session)}`),
  };
}

async function completeModel(
  { typed, before }: { typed: string; before: string },
  text: string,
  conversation: Pick<ChatSession, "execute">,
): Promise<LineCompletion> {
  const answer = await conversation.execute({ name: "model", argument: "" });
  if (answer.kind !== "model") return { text, choices: [] };
  const matches = answer.models.filter((name) => name.startsWith(typed));
  if (matches.length === 0) return { text, choices: [] };
  const choices = matches.length === 1 ? [] : matches;
  return { text: before + commonPrefix(matches), choices };
}

function commonPrefix(values: readonly string[]): string {
  return values.reduce((start, value) => {
    let length = 0;
    while (length < start.length && start[length] === value[length]) length += 1;
    return start.slice(0, length);
  });
}

const historyLines = z.array(z.string());
const maxHistoryLines = 500;

/** Previously typed lines, newest last. The file is private to the person. */
export function readHistory(home: string): readonly string[] {
  try {
    return historyLines.safeParse(JSON.parse(readFileSync(historyFile(home), "utf8"))).data ?? [];
  } catch {
    return [];
  }
}

/** Keeps the lines of concurrent chats, in the order they were typed. */
export function appendHistory(home: string, typed: string): void {
  const lines = [...readHistory(home).filter((line) => line !== typed), typed].slice(
    -maxHistoryLines,
  );
  const temporary = `${historyFile(home)}.${process.pid}`;
  try {
    writeFileSync(temporary, JSON.stringify(lines), { mode: 0o600 });
    renameSync(temporary, historyFile(home));
  } catch {
    // A history that cannot be saved is no reason to stop.
  }
}

function historyFile(home: string): string {
  return join(home, "chat-history.json");
}
