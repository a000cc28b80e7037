import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CommandAnswer, parseInput } from "@holdfast/client";
import { cleanLine } from "../screen/text.ts";
import { type RenderStyle } from "../screen/paint.ts";
import { systemCode } from "../../util/outcome.ts";
import type { OpenApproval } from "../transcript/open-approval.ts";
import { wrapBlock } from "../transcript/rows.ts";
import { approvalRows, asksForFullCall, fullCallRows, parseReply, replyText } from "./approval.ts";
import type { ChatSession } from "./chat-session.ts";
import { chatStrings } from "../strings/chat.ts";
import { commandRows } from "./command-output.ts";
import { offerFor } from "./offers.ts";
import type { Offer } from "./picker.ts";

const texts = chatStrings.command;

export interface LineContext {
  readonly conversation: ChatSession;
  readonly approval: OpenApproval | undefined;
  readonly style: RenderStyle;
  /** Where to save documents; `null` prints them. */
  readonly folder: string | null;
}

/** What a line led to: rows to show, and what happens next. `sent`: an answer will come. */
export interface LineResult {
  readonly rows: readonly string[];
  readonly next: "stay" | "leave" | "sent";
  /** What to choose from, in place of the rows. */
  readonly offer?: Offer | undefined;
}

/** Executes a typed line: a reply to an approval, a command, or a message. */
export async function handleLine(text: string, context: LineContext): Promise<LineResult> {
  const { conversation, approval, style } = context;
  const typed = parseInput(text);
  switch (typed.kind) {
    case "nothing":
      return { rows: [], next: "stay" };
    case "message":
      if (approval !== undefined) return answerApproval(typed.text, approval, context);
      return sendMessage(typed.text, context);
    case "unknown":
      if (["quit", "exit", "q"].includes(typed.name)) return { rows: [], next: "leave" };
      if (approval === undefined && (await conversation.hasSkill(typed.name)))
        return sendMessage(text, context);
      return errorResult(texts.unknown(typed.name, typed.nearest), style);
    case "misused":
      return errorResult(typed.sentence, style);
    case "command": {
      const answer = await conversation.execute(typed.invocation);
      if (answer.kind === "chosen_for_next")
        return { rows: [style.paint("dim", `— ${answer.sentence}`)], next: "stay" };
      const rows =
        answer.kind === "document" ? saveDocument(answer, context) : commandRows(answer, style);
      const next = answer.kind === "sent" ? "sent" : "stay";
      return { rows, next, offer: offerFor(answer) };
    }
  }
}

async function sendMessage(
  text: string,
  { conversation, style, folder }: LineContext,
): Promise<LineResult> {
  const refusal = await conversation.send(text, { folder });
  if (refusal === undefined) return { rows: [], next: "sent" };
  return { rows: commandRows(refusal, style), next: "stay" };
}

async function answerApproval(
  text: string,
  approval: OpenApproval,
  { conversation, style }: LineContext,
): Promise<LineResult> {
  if (asksForFullCall(text, approval)) return { rows: fullCallRows(approval, style), next: "stay" };
  const reply = parseReply(text, approval);
  if (reply === undefined) {
    return {
      rows: [...approvalRows(approval, style), style.paint("bad", chatStrings.approval.notAReply)],
      next: "stay",
    };
  }
  const refusal = await conversation.answer(approval.approvalId, reply);
  if (refusal !== undefined) return { rows: commandRows(refusal, style), next: "stay" };
  return { rows: [style.paint("dim", `— ${replyText(reply)}`)], next: "sent" };
}

function errorResult(sentence: string, style: RenderStyle): LineResult {
  return { rows: wrapBlock(cleanLine(sentence), style, "", ["bad"]), next: "stay" };
}

/** Never overwrites a file. */
function saveDocument(
  { name, text }: Extract<CommandAnswer, { kind: "document" }>,
  { folder, style }: LineContext,
): readonly string[] {
  if (folder === null) return text.split("\n");
  const [, stem = name, extension = ""] = /^(.*?)(\.\w+)?$/.exec(name) ?? [];
  let path = join(folder, name);
  for (let copy = 2; existsSync(path); copy += 1)
    path = join(folder, `${stem}-${copy}${extension}`);
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
    return [style.paint("dim", `— ${texts.savedTo(path)}`)];
  } catch (error) {
    return [style.paint("bad", texts.notSaved(path, systemCode(error) ?? ""))];
  }
}
