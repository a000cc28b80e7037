import type { Json, LiveTool } from "@holdfast/protocol";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { CopyButton } from "../../ui/copy-button.tsx";
import { plainOutput, revealUnseen } from "../../ui/markdown/safe-text.ts";
import { words } from "../../strings/strings.ts";
import { changesIn } from "./tool-details.tsx";

/** What exactly is run. An edit is shown as what it changes. */
export function Arguments({ input }: { input: Json }) {
  const changes = changesIn(input);
  if (changes !== null)
    return (
      <Labelled label={words.tool.changes}>
        <pre className="diff" dir="ltr">
          {changes.map((line, index) => (
            <span key={index} className={line.kind}>
              {revealUnseen(line.text)}
              {"\n"}
            </span>
          ))}
        </pre>
      </Labelled>
    );
  const text = JSON.stringify(input, null, 2);
  if (text === "{}" || text === "null") return null;
  return (
    <Labelled label={words.tool.arguments} copy={text}>
      <pre dir="ltr">{revealUnseen(text)}</pre>
    </Labelled>
  );
}

const mostShown = 40_000;

/** Stays at its end while it grows, until somebody scrolls up in it. */
export function Output({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const place = useRef<HTMLPreElement>(null);
  const shown = plainOutput(text.length > mostShown ? text.slice(-mostShown) : text);
  useEffect(() => {
    const pre = place.current;
    if (pre === null || !isGrowing) return;
    if (pre.scrollHeight - pre.scrollTop - pre.clientHeight < 120) pre.scrollTop = pre.scrollHeight;
  });
  return (
    <Labelled label={words.tool.output} copy={text}>
      <pre ref={place} dir="ltr">
        {shown === "" && !isGrowing ? words.tool.noOutput : shown}
      </pre>
    </Labelled>
  );
}

interface LabelledProps {
  readonly label: string;
  readonly copy?: string;
  readonly children: ReactNode;
}

export function Labelled({ label, copy, children }: LabelledProps) {
  return (
    <div className="tool-part">
      <div className="tool-label">
        <span>{label}</span>
        {copy !== undefined && <CopyButton text={copy} label={words.common.copy} />}
      </div>
      {children}
    </div>
  );
}

export function Duration({ tool }: { tool: LiveTool }) {
  const [now, setNow] = useState(() => Date.now());
  const isRunning = tool.endedAt === null;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [isRunning]);
  const ms = Math.max(0, (tool.endedAt ?? now) - tool.startedAt);
  return <span className="tool-time">{words.tool.seconds(ms)}</span>;
}
