import { isAbsolute, join } from "node:path";
import type { ToolCallContent, ToolCallLocation, ToolKind } from "@agentclientprotocol/sdk";
import type { FileChange, Json, ToolDetails, ToolOutcome } from "@holdfast/protocol";
import { describeCall, resultLines } from "../transcript/describe.ts";

/** A call as the model made it. */
export interface Call {
  readonly callId: string;
  readonly name: string;
  readonly input: Json;
}

const kinds: Readonly<Record<string, ToolKind>> = {
  terminal: "execute",
  processes: "execute",
  read_file: "read",
  list_files: "search",
  glob: "search",
  grep: "search",
  search_sessions: "search",
  write_file: "edit",
  edit_file: "edit",
  apply_patch: "edit",
  fetch_url: "fetch",
  web_search: "fetch",
  todo: "think",
  remember: "think",
  delegate: "think",
};

export function kindOf(name: string): ToolKind {
  return Object.hasOwn(kinds, name) ? (kinds[name] ?? "other") : "other";
}

const maxTitleLength = 200;

/** The very command, or the tool with what it works on. The whole input is sent beside it. */
export function titleOf({ name, input }: Call): string {
  const call = describeCall(name, input);
  if (kindOf(name) === "execute") return call;
  const path = textField(input, "path") ?? textField(input, "url");
  if (path !== undefined) return `${name} ${path}`;
  const [line = name] = call.split("\n", 1);
  return line.length > maxTitleLength ? `${line.slice(0, maxTitleLength)}…` : line;
}

export function locationsOf({ input }: Call, folder: string): ToolCallLocation[] {
  const path = textField(input, "path");
  return path === undefined ? [] : [{ path: absolute(folder, path) }];
}

/** What an edit is about to do, before it is done. */
export function plannedContent({ name, input }: Call, folder: string): ToolCallContent[] {
  const path = textField(input, "path");
  if (path === undefined) return [];
  if (name === "write_file") {
    const newText = textField(input, "content") ?? textField(input, "text");
    return newText === undefined ? [] : [diffOf(folder, path, null, newText)];
  }
  const [oldText, newText] = [textField(input, "old"), textField(input, "new")];
  if (name !== "edit_file" || oldText === undefined || newText === undefined) return [];
  return [diffOf(folder, path, oldText, newText)];
}

export interface Ending {
  readonly outcome: ToolOutcome;
  readonly output: string;
  readonly details?: ToolDetails | undefined;
}

/** What a call has done: its output, and what it changed in files. */
export function resultContent(
  name: string,
  { output, details }: Ending,
  folder: string,
): ToolCallContent[] {
  const diffs = (details?.changes ?? []).flatMap((change) => diffsOf(change, folder));
  const child = resultLines(details ?? {}).map((line) => outputContent("", line));
  return [...(output === "" ? [] : [outputContent(name, output)]), ...child, ...diffs];
}

/** Editors read text as Markdown, which the output of a command is not. */
export function outputContent(name: string, output: string): ToolCallContent {
  const isPlain = ["execute", "read", "search"].includes(kindOf(name));
  const fence = "`".repeat(Math.max(3, longestRun(output) + 1));
  const text = isPlain ? `${fence}\n${output.replace(/\n$/, "")}\n${fence}` : output;
  return { type: "content", content: { type: "text", text } };
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
}

/** One for each place that changed: the log has the lines around a change, not the whole file. */
function diffsOf({ path, diff }: FileChange, folder: string): ToolCallContent[] {
  const hunks = diff.split(/^@@.*@@.*$/m).slice(1);
  return hunks.map((hunk) => {
    const lines = hunk.replace(/^\n/, "").replace(/\n$/, "").split("\n");
    const side = (mark: "-" | "+"): string =>
      lines
        .flatMap((line) => (/^[ ]/.test(line) || line.startsWith(mark) ? [line.slice(1)] : []))
        .join("\n");
    return diffOf(folder, path, side("-"), side("+"));
  });
}

function diffOf(
  folder: string,
  path: string,
  oldText: string | null,
  newText: string,
): ToolCallContent {
  return { type: "diff", path: absolute(folder, path), oldText, newText };
}

function absolute(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

function textField(input: Json, name: string): string | undefined {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined;
  const value = input[name];
  return typeof value === "string" ? value : undefined;
}
