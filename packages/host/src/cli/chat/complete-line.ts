import { completeInput, shortId } from "@holdfast/client";
import { sessionTitle } from "../transcript/describe-session.ts";
import type { ChatSession } from "./chat-session.ts";

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
