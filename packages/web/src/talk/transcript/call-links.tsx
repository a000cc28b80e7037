import {
  type ChildDetails,
  formatDollars,
  type Json,
  type LiveTool,
  processId,
  type ProcessId,
  sessionId,
  type SessionId,
  type ToolResultPart,
} from "@holdfast/protocol";
import { SessionLink } from "../../sessions/session-link.tsx";
import { Markdown } from "../../ui/markdown/markdown.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { LabelledBlock } from "./labelled-block.tsx";

/** The conversation that has a delegated task. While the call runs, the first thing that it writes names it. */
export function childOf(
  name: string,
  result: ToolResultPart | null,
  running: LiveTool | null,
): SessionId | null {
  const known = result?.details?.child?.sessionId;
  if (known !== undefined || name !== "delegate") return known ?? null;
  const written = /\bses_\w+/.exec(running?.output ?? "")?.[0];
  return sessionId.safeParse(written).data ?? null;
}

interface DelegatedTaskProps {
  readonly id: SessionId;
  /** Known once the call has ended. */
  readonly details: ChildDetails | undefined;
}

export function DelegatedTask({ id, details }: DelegatedTaskProps) {
  const { profile, title, costMicros, tookMs } = details ?? {};
  const facts = [
    ...(profile === undefined ? [] : [profile]),
    ...(title === undefined ? [] : [title]),
    ...(costMicros === undefined ? [] : [formatDollars(costMicros)]),
    ...(tookMs === undefined ? [] : [strings.tool.seconds(tookMs)]),
  ];
  return (
    <div className="tool-child">
      <SessionLink id={id} label={strings.tool.child} />
      {facts.length > 0 && (
        <span className="quiet" dir="auto">
          {revealInvisible(facts.join(" · "))}
        </span>
      )}
    </div>
  );
}

/** The process that a call started in the background: its result names it. */
export function backgroundProcessOf(input: Json, result: ToolResultPart | null): ProcessId | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  if (input["background"] !== true || result?.outcome !== "ok") return null;
  return processId.safeParse(/\bprc_\w+/.exec(result.output)?.[0]).data ?? null;
}

interface TaskBodyProps {
  readonly task: string;
  readonly output: string | null;
  readonly isRunning: boolean;
}

/** The task as it was given, and what came back: both are text to read, not data. */
export function TaskBody({ task, output, isRunning }: TaskBodyProps) {
  // While it runs, the output only says which conversation has the task, and the link does too.
  const answer = isRunning ? "" : (output ?? "").replace(/\s*\[answered in session \w+\]/, "");
  return (
    <>
      <LabelledBlock label={strings.tool.task} copy={task}>
        <Markdown text={revealInvisible(task)} />
      </LabelledBlock>
      {answer !== "" && (
        <LabelledBlock label={strings.tool.taskAnswer} copy={answer}>
          <Markdown text={revealInvisible(answer)} />
        </LabelledBlock>
      )}
    </>
  );
}

/** The task of a call that delegates one; `null` for any other call. */
export function taskOf(name: string, input: Json): string | null {
  if (name !== "delegate" || typeof input !== "object" || input === null || Array.isArray(input))
    return null;
  const { task } = input;
  return typeof task === "string" ? task : null;
}
