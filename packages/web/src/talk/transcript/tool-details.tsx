import { useEffect, useRef, useState } from "react";
import { strings } from "../../strings/strings.ts";
import type { Json, LiveTool, TodoItem } from "@holdfast/protocol";
import { Icon, type IconName } from "../../ui/icons.tsx";
import { stripAnsi, revealInvisible } from "../../ui/markdown/safe-text.ts";
import { commandOf } from "./command-text.ts";
import { DiffLines, type DiffLine, linesOfPatch } from "./diff-view.tsx";
import { LabelledBlock } from "./labelled-block.tsx";

/** Names of the argument that summarises a call, in order of preference. */
const mainArguments = [
  "command",
  "title",
  "task",
  "path",
  "file",
  "url",
  "query",
  "pattern",
  "text",
  "name",
];

export function toolHeadline(input: Json): string {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return "";
  const command = commandOf(input);
  if (command !== null) return command;
  const name = mainArguments.find((argument) => argument in input) ?? Object.keys(input)[0];
  const value = name === undefined ? undefined : input[name];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

export function toolIcon(name: string): IconName {
  if (/terminal|shell|exec|command/.test(name)) return "terminal";
  if (/edit|write|patch/.test(name)) return "edit";
  if (/read|list|glob|file/.test(name)) return "file";
  if (/grep|search|find/.test(name)) return "search";
  if (/fetch|url|web/.test(name)) return "link";
  if (/memory|note|fact/.test(name)) return "memory";
  if (/todo|plan/.test(name)) return "list";
  if (/delegate/.test(name)) return "branch";
  return "window";
}

/** The diff of an edit, from the arguments of the call alone. */
function diffOf(input: Json): readonly DiffLine[] | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const patch = textAt(input, ["patch", "diff"]);
  if (patch !== null) return linesOfPatch(patch);
  const written = textAt(input, ["path"]) === null ? null : textAt(input, ["content"]);
  if (written !== null)
    return written.split("\n").map((text): DiffLine => ({ kind: "added", text }));
  const before = textAt(input, ["old", "old_string", "oldText", "old_text", "search"]);
  const after = textAt(input, ["new", "new_string", "newText", "new_text", "replace"]);
  if (before === null || after === null) return null;
  return diffLines(before.split("\n"), after.split("\n"));
}

function textAt(input: Record<string, Json>, names: readonly string[]): string | null {
  const found = names.map((name) => input[name]).find((value) => typeof value === "string");
  return typeof found === "string" ? found : null;
}

/** Keeps the common first and last lines; everything between is removed and added. */
function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const line = (kind: DiffLine["kind"]) => (text: string) => ({ kind, text });
  return [
    ...before.slice(0, head).map(line("same")),
    ...before.slice(head, before.length - tail).map(line("removed")),
    ...after.slice(head, after.length - tail).map(line("added")),
    ...before.slice(before.length - tail).map(line("same")),
  ];
}

const worktreeName = /the workspace "worktree:[0-9a-f]{16}"/;
const sessionWorkspace = /[/\\]workspaces[/\\]ses_[^/\\]+$/;

/**
 * The host's description of a call, with the path of a conversation's own workspace replaced by a phrase. Only in the first
 * line, which is the host's: the lines below are exactly what would run.
 */
export function withWorkspaceName(shown: string, workspace: string | undefined): string {
  const [firstLine = ""] = shown.split("\n", 1);
  if (worktreeName.test(firstLine))
    return (
      firstLine.replace(worktreeName, strings.approval.ownWorktree) + shown.slice(firstLine.length)
    );
  if (workspace === undefined || !sessionWorkspace.test(workspace)) return shown;
  const start = shown.indexOf(` in ${workspace}`);
  const lineEnd = shown.indexOf("\n");
  if (start === -1 || (lineEnd !== -1 && start > lineEnd)) return shown;
  const rest = shown.slice(start + ` in ${workspace}`.length);
  return `${shown.slice(0, start)} in ${strings.approval.ownWorkspace}${rest}`;
}

/** The arguments of a call: a command as a command, an edit as a diff, anything else exactly. */
export function ToolArguments({ input }: { input: Json }) {
  const command = commandOf(input);
  const changes = command === null ? diffOf(input) : null;
  const rest = command === null ? input : withoutCommand(input);
  const text = JSON.stringify(rest, null, 2);
  const isEmpty = text === "{}" || text === "null";
  if (changes !== null)
    return (
      <LabelledBlock label={strings.tool.changes}>
        <DiffLines lines={changes} />
      </LabelledBlock>
    );
  return (
    <>
      {command !== null && (
        <LabelledBlock label={strings.tool.command} copy={command}>
          <pre className="command" dir="ltr">
            {revealInvisible(command)}
          </pre>
        </LabelledBlock>
      )}
      {!isEmpty && (
        <LabelledBlock label={strings.tool.arguments} copy={text}>
          <pre dir="ltr">{revealInvisible(text)}</pre>
        </LabelledBlock>
      )}
    </>
  );
}

function withoutCommand(input: Json): Json {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const { command: _, ...rest } = input;
  return rest;
}

/** A todo list as a checklist. */
export function Checklist({ todos }: { todos: readonly TodoItem[] }) {
  return (
    <ul className="checklist">
      {todos.map(({ text, state }, index) => (
        <li key={index} className={state}>
          <span className="hidden-text">{strings.tool.todo[state]}: </span>
          {state === "done" ? <Icon name="check" /> : <span className="checkbox" aria-hidden />}
          <span>{revealInvisible(text)}</span>
        </li>
      ))}
    </ul>
  );
}

const maxShownLength = 40_000;

/** Stays scrolled to the end while the output grows, until somebody scrolls up. */
export function ToolOutput({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const preRef = useRef<HTMLPreElement>(null);
  const shown = stripAnsi(text.length > maxShownLength ? text.slice(-maxShownLength) : text);
  useEffect(() => {
    const pre = preRef.current;
    if (pre === null || !isGrowing) return;
    if (pre.scrollHeight - pre.scrollTop - pre.clientHeight < 120) pre.scrollTop = pre.scrollHeight;
  });
  return (
    <LabelledBlock label={strings.tool.output} copy={text}>
      <pre ref={preRef} dir="ltr">
        {shown === "" && !isGrowing ? strings.tool.noOutput : shown}
      </pre>
    </LabelledBlock>
  );
}

export function ToolDuration({ tool }: { tool: LiveTool }) {
  const [now, setNow] = useState(() => Date.now());
  const isRunning = tool.endedAt === null;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [isRunning]);
  const ms = Math.max(0, (tool.endedAt ?? now) - tool.startedAt);
  return <Duration ms={ms} />;
}

export function Duration({ ms }: { ms: number }) {
  return <span className="tool-time">{strings.tool.seconds(ms)}</span>;
}
