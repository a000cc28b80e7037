import type { Json, LiveTool } from "@holdfast/protocol";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { CopyButton } from "../../ui/copy-button.tsx";
import { stripAnsi, revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { diffOf } from "./tool-details.tsx";

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
