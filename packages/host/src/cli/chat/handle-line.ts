import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CommandAnswer, parseTyped } from "@holdfast/client";
import { type SessionView } from "@holdfast/protocol";
import { cleanLine } from "../screen/text.ts";
import { type Look } from "../screen/markdown.ts";
import { systemCode } from "../../util/outcome.ts";
import { approvalRows, asksForWhole, type OpenApproval, wholeRows, wordFrom } from "./approval.ts";
import type { Conversation } from "./chat-session.ts";
import { answerRows } from "./command-output.ts";

export interface TypedContext {
  readonly conversation: Conversation;
  readonly approval: OpenApproval | undefined;
  readonly look: Look;
  /** Where documents are put; `null` prints them. */
  readonly folder: string | null;
}

/** What became of a line: rows to show, and whether the person wants to leave. `sent`: an answer will come. */
export interface TypedResult {
  readonly rows: readonly string[];
  readonly next: "stay" | "leave" | "sent";
  /** To choose from, where the rows list sessions. */
  readonly sessions?: readonly SessionView[];
}

/** Does what a person typed: a word about what asks, a command, or a message. */
export async function handleTyped(text: string, context: TypedContext): Promise<TypedResult> {
  const { conversation, approval, look } = context;
  const typed = parseTyped(text);
  switch (typed.kind) {
    case "nothing":
      return { rows: [], next: "stay" };
    case "message":
      if (approval !== undefined) return answerApproval(typed.text, approval, context);
      return say(typed.text, conversation, look);
    case "unknown":
      if (["quit", "exit", "q"].includes(typed.name)) return { rows: [], next: "leave" };
      return complain(
        `There is no command /${typed.name}. Did you mean /${typed.nearest}? (//${typed.name} … sends it as a message.)`,
        look,
      );
    case "misused":
      return complain(typed.sentence, look);
    case "command": {
      const answer = await conversation.execute(typed.invocation);
      const rows =
        answer.kind === "document" ? putDocument(answer, context) : answerRows(answer, look);
      const next = answer.kind === "sent" ? "sent" : "stay";
      return { rows, next, sessions: answer.kind === "sessions" ? answer.sessions : [] };
    }
  }
}

async function say(text: string, conversation: Conversation, look: Look): Promise<TypedResult> {
  const refused = await conversation.send(text);
  if (refused === undefined) return { rows: [], next: "sent" };
  return { rows: answerRows(refused, look), next: "stay" };
}

async function answerApproval(
  text: string,
  approval: OpenApproval,
  { conversation, look }: TypedContext,
): Promise<TypedResult> {
  if (asksForWhole(text, approval)) return { rows: wholeRows(approval, look), next: "stay" };
  const word = wordFrom(text, approval);
  if (word === undefined) {
    return {
      rows: [
        ...approvalRows(approval, look),
        look.paint("bad", "That is neither yes nor no. /queue sends a message for later."),
      ],
      next: "stay",
    };
  }
  const refused = await conversation.answer(approval.approvalId, word);
  if (refused !== undefined) return { rows: answerRows(refused, look), next: "stay" };
  const said = cleanLine(word.answer ?? word.decision);
  return { rows: [look.paint("dim", `— ${said}`)], next: "sent" };
}

function complain(sentence: string, look: Look): TypedResult {
  return { rows: [look.paint("bad", cleanLine(sentence))], next: "stay" };
}

/** Never over something that is there. */
function putDocument(
  { name, text }: Extract<CommandAnswer, { kind: "document" }>,
  { folder, look }: TypedContext,
): readonly string[] {
  if (folder === null) return text.split("\n");
  const [, stem = name, ending = ""] = /^(.*?)(\.\w+)?$/.exec(name) ?? [];
  let path = join(folder, name);
  for (let copy = 2; existsSync(path); copy += 1) path = join(folder, `${stem}-${copy}${ending}`);
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
    return [look.paint("dim", `— Written to ${path}`)];
  } catch (error) {
    return [look.paint("bad", `${path} cannot be written (${systemCode(error)}).`)];
  }
}
