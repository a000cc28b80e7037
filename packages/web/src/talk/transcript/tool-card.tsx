import type { Json, LiveTool, LiveView, TodoItem, ToolResultPart } from "@holdfast/protocol";
import { useState } from "react";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { AnsweredQuestion, questionInCall } from "../approvals/answered-question.tsx";
import { ApprovalCard } from "../approvals/approval-card.tsx";
import { ResultFiles } from "./attachment-view.tsx";
import { backgroundProcessOf, childOf, DelegatedTask, TaskBody, taskOf } from "./call-links.tsx";
import { FileChanges } from "./diff-view.tsx";
import { ProcessOutput } from "./process-output.tsx";
import { SourceList } from "./sources.tsx";
import { blobHref } from "../../host/page-key.ts";
import {
  Checklist,
  Duration,
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
  /** Whether the keys for approvals answer this one. */
  readonly hasKeys?: boolean;
  /** Whether the run that made the call is still going. */
  readonly isLive: boolean;
}

type ToolState = keyof typeof strings.tool.state | "pending" | "skipped";

/** A tool call and its result. Open while it runs; collapsed when it is done, unless it failed. */
export function ToolCard({
  name,
  input = null,
  result,
  running,
  approval,
  hasKeys = false,
  isLive,
}: ToolCardProps) {
  const state = stateOf();
  const [toggled, setToggled] = useState<boolean | null>(null);
  const isOpen = toggled ?? (state === "running" || state === "failed" || state === "unknown");
  const output = result?.output ?? running?.output ?? null;
  const child = childOf(name, result, running);
  const process = backgroundProcessOf(input, result);
  const task = taskOf(name, input);
  const changes = result?.details?.changes ?? [];
  const sources = result?.details?.sources ?? [];
  const tookMs = result?.details?.tookMs;
  const reason = result?.details?.reason;
  const blobId = result?.blobId ?? running?.blobId;
  const todos = result?.outcome === "ok" ? result.details?.todos : undefined;

  function stateOf(): ToolState {
    if (result !== null) return isDenied(result) ? "denied" : result.outcome;
    if (running !== null) return running.outcome ?? "running";
    if (approval !== null) return "asking";
    return isLive ? "pending" : "skipped";
  }

  if (approval !== null && result === null)
    return <ApprovalCard approval={approval} hasKeys={hasKeys} />;
  if (result !== null && questionInCall(name, input) !== null)
    return <AnsweredQuestion name={name} input={input} result={result} />;
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
          {running !== null ? (
            <ToolDuration tool={running} />
          ) : (
            tookMs !== undefined && <Duration ms={tookMs} />
          )}
          {state === "running" && <span className="dot pulsing" />}
          <span>{stateText(state)}</span>
        </span>
        <Icon name="chevron" />
      </button>
      {child !== null && <DelegatedTask id={child} details={result?.details?.child} />}
      {reason !== undefined && (
        <p className="tool-reason as-written" dir="auto">
          <span className="quiet">{strings.tool.reason}</span> {revealInvisible(reason)}
        </p>
      )}
      {process !== null && <ProcessOutput id={process} isOpen={isLive} />}
      {todos !== undefined && todos.length > 0 && <Checklist todos={todos} />}
      <ResultFiles files={result?.details?.files ?? []} />
      {isOpen && (
        <div className="tool-body">
          {state === "unknown" && <p className="aside">{strings.tool.unknownHint}</p>}
          {task !== null ? (
            <TaskBody task={task} output={output} isRunning={state === "running"} />
          ) : (
            <>
              {changes.length > 0 ? (
                <FileChanges changes={changes} />
              ) : (
                <ToolArguments input={input} />
              )}
              {sources.length > 0 && <SourceList sources={sources} shows="snippets" />}
              {output !== null && <ToolOutput text={output} isGrowing={state === "running"} />}
            </>
          )}
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
