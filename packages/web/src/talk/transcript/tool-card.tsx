import type { Json, LiveTool, LiveView, TodoItem, ToolResultPart } from "@holdfast/protocol";
import { useState } from "react";
import { SessionLink } from "../../sessions/session-link.tsx";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { blobHref } from "../../host/page-key.ts";
import {
  Checklist,
  ToolArguments,
  ToolDuration,
  ToolOutput,
  toolHeadline,
  toolIcon,
} from "./tool-details.tsx";

interface ToolCardProps {
  readonly name: string;
  readonly input?: Json;
  readonly result: ToolResultPart | null;
  readonly running: LiveTool | null;
  readonly approval: LiveView["approvals"][number] | null;
  /** Whether the run that made the call is still going. */
  readonly isLive: boolean;
}

type ToolState = keyof typeof strings.tool.state | "pending" | "skipped";

/** A tool call and its result. Open while it runs; collapsed when it is done, unless it failed. */
export function ToolCard({ name, input = null, result, running, approval, isLive }: ToolCardProps) {
  const state = stateOf();
  const [toggled, setToggled] = useState<boolean | null>(null);
  const isOpen = toggled ?? (state === "running" || state === "failed" || state === "unknown");
  const output = result?.output ?? running?.output ?? null;
  const child = result?.details?.child;
  const blobId = result?.blobId ?? running?.blobId;
  const todos = result?.outcome === "ok" ? result.details?.todos : undefined;

  function stateOf(): ToolState {
    if (result !== null) return isDenied(result) ? "denied" : result.outcome;
    if (running !== null) return running.outcome ?? "running";
    if (approval !== null) return "asking";
    return isLive ? "pending" : "skipped";
  }

  if (approval !== null && result === null) return <ApprovalCard approval={approval} />;
  return (
    <section className={`tool ${state}`} aria-label={`${name}: ${stateText(state)}`}>
      <button
        type="button"
        className="tool-head"
        aria-expanded={isOpen}
        onClick={() => setToggled(!isOpen)}
      >
        <Icon name={toolIcon(name)} />
        <span className="tool-name">{name}</span>
        <code className="tool-line" dir="ltr">
          {todos === undefined
            ? revealInvisible(toolHeadline(input)).slice(0, 300)
            : strings.tool.todosDone(doneCount(todos), todos.length)}
        </code>
        <span className="tool-state">
          {running !== null && <ToolDuration tool={running} />}
          {state === "running" && <span className="dot pulsing" />}
          <span>{stateText(state)}</span>
        </span>
        <Icon name="chevron" />
      </button>
      {child !== undefined && (
        <div className="tool-child">
          <SessionLink id={child.sessionId} label={strings.tool.child} />
        </div>
      )}
      {todos !== undefined && todos.length > 0 && <Checklist todos={todos} />}
      {isOpen && (
        <div className="tool-body">
          {state === "unknown" && <p className="aside">{strings.tool.unknownHint}</p>}
          <ToolArguments input={input} />
          {output !== null && <ToolOutput text={output} isGrowing={state === "running"} />}
          {blobId !== undefined && (
            <a className="button plain" href={blobHref(blobId)} download={`${name}.txt`}>
              <Icon name="download" />
              {strings.tool.whole}
            </a>
          )}
        </div>
      )}
    </section>
  );
}

function doneCount(todos: readonly TodoItem[]): number {
  return todos.filter(({ state }) => state === "done").length;
}

function isDenied({ details }: NonNullable<ToolCardProps["result"]>): boolean {
  return details?.refusal === "denied" || details?.refusal === "forbidden";
}

function stateText(state: ToolState): string {
  if (state === "pending") return strings.tool.queued;
  return state === "skipped" ? strings.tool.notRun : strings.tool.state[state];
}
