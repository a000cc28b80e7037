import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CommandAnswer, parseInput } from "@holdfast/client";
import { type SessionView } from "@holdfast/protocol";
import { cleanLine } from "../screen/text.ts";
import { type RenderStyle } from "../screen/markdown.ts";
import { systemCode } from "../../util/outcome.ts";
import {
  approvalRows,
  asksForFullCall,
  type OpenApproval,
  fullCallRows,
  parseReply,
} from "./approval.ts";
import type { ChatSession } from "./chat-session.ts";
import { commandRows } from "./command-output.ts";

export interface LineContext {
  readonly conversation: ChatSession;
  readonly approval: OpenApproval | undefined;
  readonly style: RenderStyle;
  /** Where documents are put; `null` prints them. */
  readonly folder: string | null;
}

/** What became of a line: rows to show, and whether the person wants to leave. `sent`: an answer will come. */
export interface LineResult {
  readonly rows: readonly string[];
  readonly next: "stay" | "leave" | "sent";
  /** To choose from, where the rows list sessions. */
  readonly sessions?: readonly SessionView[];
}

/** Does what a person typed: a word about what asks, a command, or a message. */
export async function handleLine(text: string, context: LineContext): Promise<LineResult> {
  const { conversation, approval, style: look } = context;
  const typed = parseInput(text);
  switch (typed.kind) {
    case "nothing":
      return { rows: [], next: "stay" };
    case "message":
      if (approval !== undefined) return answerApproval(typed.text, approval, context);
      return sendMessage(typed.text, conversation, look);
    case "unknown":
      if (["quit", "exit", "q"].includes(typed.name)) return { rows: [], next: "leave" };
      return errorResult(
        `There is no command /${typed.name}. Did you mean /${typed.nearest}? (//${typed.name} … sends it as a message.)`,
        look,
      );
    case "misused":
      return errorResult(typed.sentence, look);
    case "command": {
      const answer = await conversation.execute(typed.invocation);
      const rows =
        answer.kind === "document" ? saveDocument(answer, context) : commandRows(answer, look);
      const next = answer.kind === "sent" ? "sent" : "stay";
      return { rows, next, sessions: answer.kind === "sessions" ? answer.sessions : [] };
    }
  }
}

async function sendMessage(
  text: string,
  conversation: ChatSession,
  look: RenderStyle,
): Promise<LineResult> {
  const refused = await conversation.send(text);
  if (refused === undefined) return { rows: [], next: "sent" };
  return { rows: commandRows(refused, look), next: "stay" };
}

async function answerApproval(
  text: string,
  approval: OpenApproval,
  { conversation, style: look }: LineContext,
): Promise<LineResult> {
  if (asksForFullCall(text, approval)) return { rows: fullCallRows(approval, look), next: "stay" };
  const word = parseReply(text, approval);
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
  if (refused !== undefined) return { rows: commandRows(refused, look), next: "stay" };
  const said = cleanLine(word.answer ?? word.decision);
  return { rows: [look.paint("dim", `— ${said}`)], next: "sent" };
}

function errorResult(sentence: string, look: RenderStyle): LineResult {
  return { rows: [look.paint("bad", cleanLine(sentence))], next: "stay" };
}

/** Never over something that is there. */
function saveDocument(
  { name, text }: Extract<CommandAnswer, { kind: "document" }>,
  { folder, style: look }: LineContext,
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
