import { randomUUID } from "node:crypto";
import type { AvailableCommand } from "@agentclientprotocol/sdk";
import {
  type Client,
  type CommandAnswer,
  describeRestored,
  executeCommand,
  type Invocation,
  parseInput,
} from "@holdfast/client";
import {
  type CommandName,
  commands,
  commandUsage,
  type LaneKey,
  type RunId,
  type SessionId,
} from "@holdfast/protocol";
import { acpStrings } from "../strings/acp.ts";
import { commandRows } from "../chat/command-output.ts";
import { plainPaint } from "../screen/paint.ts";

/** An editor has its own ways to begin, choose, stop and queue. */
const notInEditors: ReadonlySet<CommandName> = new Set([
  "new",
  "resume",
  "sessions",
  "branch",
  "stop",
  "queue",
]);

export function availableCommands(): AvailableCommand[] {
  return commands
    .filter(({ name }) => !notInEditors.has(name))
    .map((command) => {
      const hint = commandUsage(command).slice(command.name.length + 2);
      return {
        name: command.name,
        description: command.help,
        ...(hint !== "" && { input: { hint } }),
      };
    });
}

/** What a prompt's text asks for. */
export type PromptKind =
  | { readonly kind: "message" }
  | { readonly kind: "command"; readonly invocation: Invocation }
  /** `name`: no command is called like this, but a skill may be. */
  | { readonly kind: "refused"; readonly sentence: string; readonly name?: string };

/** A path at the beginning of a text is no command; a name that is almost one is pointed out. */
export function classifyPrompt(text: string): PromptKind {
  const parsed = parseInput(text.trim());
  if (parsed.kind === "misused") return { kind: "refused", sentence: parsed.sentence };
  if (parsed.kind === "unknown")
    return /^[a-z]+$/.test(parsed.name)
      ? {
          kind: "refused",
          name: parsed.name,
          sentence: acpStrings.commands.unknown(parsed.name, parsed.nearest),
        }
      : { kind: "message" };
  if (parsed.kind !== "command") return { kind: "message" };
  const { name } = parsed.invocation;
  return notInEditors.has(name)
    ? { kind: "refused", sentence: acpStrings.commands.editorsOwn(name) }
    : { kind: "command", invocation: parsed.invocation };
}

export interface CommandDeps {
  readonly client: Client;
  readonly sessionId: SessionId;
  readonly lane: LaneKey;
  readonly mayReach?: (session: SessionId) => Promise<boolean>;
}

/** Carries out a command. `runId`: it has begun a run, which the prompt then waits for. */
export async function runSlashCommand(
  deps: CommandDeps,
  invocation: Invocation,
): Promise<{ readonly text: string; readonly runId: RunId | null }> {
  const answer = await executeCommand({ ...deps, key: randomUUID(), now: Date.now }, invocation);
  return { text: textOf(answer), runId: answer.kind === "sent" ? answer.runId : null };
}

function textOf(answer: CommandAnswer): string {
  if (answer.kind === "document") return answer.text;
  if (answer.kind === "sent") return "";
  if (answer.kind === "help")
    return availableCommands()
      .map(({ name, description }) => `- \`/${name}\` ${description}`)
      .join("\n");
  if (answer.kind === "changed" && answer.what === "undone") return acpStrings.commands.undone;
  if (answer.kind === "changed" && answer.what === "switched") return acpStrings.commands.switched;
  if (answer.kind === "changed" && answer.what === "redone") return acpStrings.commands.redone;
  if (answer.kind === "files") {
    const { cause, conversation, files } = answer;
    const said = conversation === "changed" ? `${acpStrings.commands.withFiles[cause]} ` : "";
    return said + describeRestored(cause, files);
  }
  return commandRows(answer, { width: 100, paint: plainPaint })
    .map((row) => row.replace(/^— /, ""))
    .join("\n");
}
