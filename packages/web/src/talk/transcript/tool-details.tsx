import { type ReactNode, useEffect, useRef, useState } from "react";
import { strings } from "../../strings/strings.ts";
import type { Json, LiveTool } from "@holdfast/protocol";
import type { IconName } from "../../ui/icons.tsx";
import { CopyButton } from "../../ui/copy-and-save.tsx";
import { stripAnsi, revealInvisible } from "../../ui/markdown/safe-text.ts";

/** What a call is about, in one line. Tools name their main argument in one of these ways. */
const mainArguments = ["command", "path", "file", "url", "query", "pattern", "text", "name"];

export function toolHeadline(input: Json): string {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return "";
  const name = mainArguments.find((each) => each in input) ?? Object.keys(input)[0];
  const value = name === undefined ? undefined : input[name];
  if (Array.isArray(value)) return value.map(String).join(" ");
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

/** What a call changes, as far as its own arguments say it: nothing is read from anywhere. */
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
  const isMark = line.startsWith("+++") || line.startsWith("---");
  if (line.startsWith("+") && !isMark) return { kind: "added", text: line.slice(1) };
  if (line.startsWith("-") && !isMark) return { kind: "removed", text: line.slice(1) };
  return { kind: "same", text: line };
}

/** The lines that both begin and end with stay; what lies between is taken out and put in. */
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
 * The host's words for a call, with a conversation's own workspace called that. Only where the host names the place, in the
 * first line: what would run stands there letter by letter.
 */
export function withWorkspaceName(shown: string, place: string | undefined): string {
  if (place === undefined || !sessionWorkspace.test(place)) return shown;
  const at = shown.indexOf(` in ${place}`);
  const end = shown.indexOf("\n");
  if (at === -1 || (end !== -1 && at > end)) return shown;
  const rest = shown.slice(at + ` in ${place}`.length);
  return `${shown.slice(0, at)} in ${strings.approval.ownWorkspace}${rest}`;
}

/** What exactly is run. An edit is shown as what it changes. */
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

const maxShownLength = 40_000;

/** Stays at its end while it grows, until somebody scrolls up in it. */
export function ToolOutput({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const place = useRef<HTMLPreElement>(null);
  const shown = stripAnsi(text.length > maxShownLength ? text.slice(-maxShownLength) : text);
  useEffect(() => {
    const pre = place.current;
    if (pre === null || !isGrowing) return;
    if (pre.scrollHeight - pre.scrollTop - pre.clientHeight < 120) pre.scrollTop = pre.scrollHeight;
  });
  return (
    <LabelledBlock label={strings.tool.output} copy={text}>
      <pre ref={place} dir="ltr">
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
