import { type ReactNode, useEffect, useRef, useState } from "react";
import { strings } from "../../strings/strings.ts";
import type { Json, LiveTool, TodoItem } from "@holdfast/protocol";
import { Icon, type IconName } from "../../ui/icons.tsx";
import { CopyButton } from "../../ui/copy-and-save.tsx";
import { stripAnsi, revealInvisible } from "../../ui/markdown/safe-text.ts";

/** Names of the argument that summarises a call, in order of preference. */
const mainArguments = ["command", "path", "file", "url", "query", "pattern", "text", "name"];

export function toolHeadline(input: Json): string {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return "";
  const name = mainArguments.find((argument) => argument in input) ?? Object.keys(input)[0];
  const value = name === undefined ? undefined : input[name];
  if (Array.isArray(value)) return value.filter((word) => typeof word === "string").join(" ");
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
  return "window";
}

export type DiffLine = { readonly kind: "added" | "removed" | "same"; readonly text: string };

/** The diff of an edit, from the arguments of the call alone. */
function diffOf(input: Json): readonly DiffLine[] | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const patch = textAt(input, ["patch", "diff"]);
  if (patch !== null) return patch.split("\n").map(patchLine);
  const before = textAt(input, ["old", "old_string", "oldText", "old_text", "search"]);
  const after = textAt(input, ["new", "new_string", "newText", "new_text", "replace"]);
  if (before === null || after === null) return null;
  return diffLines(before.split("\n"), after.split("\n"));
}

function textAt(input: Record<string, Json>, names: readonly string[]): string | null {
  const found = names.map((name) => input[name]).find((value) => typeof value === "string");
  return typeof found === "string" ? found : null;
}

function patchLine(line: string): DiffLine {
  const isHeader = line.startsWith("+++") || line.startsWith("---");
  if (line.startsWith("+") && !isHeader) return { kind: "added", text: line.slice(1) };
  if (line.startsWith("-") && !isHeader) return { kind: "removed", text: line.slice(1) };
  return { kind: "same", text: line };
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

const sessionWorkspace = /[/\\]workspaces[/\\]ses_[^/\\]+$/;

/**
 * The host's description of a call, with the path of a conversation's own workspace replaced by a phrase. Only in the first
 * line, which is the host's: the lines below are exactly what would run.
 */
export function withWorkspaceName(shown: string, workspace: string | undefined): string {
  if (workspace === undefined || !sessionWorkspace.test(workspace)) return shown;
  const start = shown.indexOf(` in ${workspace}`);
  const lineEnd = shown.indexOf("\n");
  if (start === -1 || (lineEnd !== -1 && start > lineEnd)) return shown;
  const rest = shown.slice(start + ` in ${workspace}`.length);
  return `${shown.slice(0, start)} in ${strings.approval.ownWorkspace}${rest}`;
}

/** The exact arguments of a call; an edit is shown as a diff. */
export function ToolArguments({ input }: { input: Json }) {
  const changes = diffOf(input);
  if (changes !== null)
    return (
      <LabelledBlock label={strings.tool.changes}>
        <pre className="diff" dir="ltr">
          {changes.map((line, index) => (
            <span key={index} className={line.kind}>
              {revealInvisible(line.text)}
              {"\n"}
            </span>
          ))}
        </pre>
      </LabelledBlock>
    );
  const text = JSON.stringify(input, null, 2);
  if (text === "{}" || text === "null") return null;
  return (
    <LabelledBlock label={strings.tool.arguments} copy={text}>
      <pre dir="ltr">{revealInvisible(text)}</pre>
    </LabelledBlock>
  );
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

interface LabelledBlockProps {
  readonly label: string;
  readonly copy?: string;
  readonly children: ReactNode;
}

export function LabelledBlock({ label, copy, children }: LabelledBlockProps) {
  return (
    <div className="tool-part">
      <div className="tool-label">
        <span>{label}</span>
        {copy !== undefined && <CopyButton text={copy} label={strings.common.copy} />}
      </div>
      {children}
    </div>
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
  return <span className="tool-time">{strings.tool.seconds(ms)}</span>;
}
