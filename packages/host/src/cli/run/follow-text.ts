import { randomUUID } from "node:crypto";
import {
  type Client,
  describeError,
  describeRetry,
  type SessionState,
  shortId,
  waitsForPerson,
} from "@holdfast/client";
import {
  type MessageId,
  type RunId,
  type RunState,
  type Seq,
  type SessionId,
  terminalStates,
} from "@holdfast/protocol";
import type { Terminal } from "../command.ts";
import { type HostWait, watchForStall } from "../connection/wait-for-host.ts";
import { runStrings } from "../strings/run.ts";
import { describeCall } from "../transcript/describe.ts";
import { type OpenApproval, questionIn } from "../transcript/open-approval.ts";
import { TranscriptDiffer } from "../transcript/pieces.ts";
import { createPipeWriter, type TranscriptWriter } from "../transcript/writer.ts";
import type { PromptResult } from "./approval-prompt.ts";

export interface AcceptedRun {
  readonly sessionId: SessionId;
  readonly messageId: MessageId;
  readonly runId: RunId;
  readonly seq: Seq;
}

export interface FollowDeps {
  readonly client: Client;
  readonly hostWait: HostWait;
  readonly terminal: Terminal;
  readonly accepted: AcceptedRun;
  readonly style: "text" | "json";
}

export interface RunEnd {
  readonly state: RunState;
  readonly cause: string | null;
}

/** Where a run is shown. Only a terminal shows what it is doing, and asks. */
export interface RunView extends TranscriptWriter {
  activity?(state: SessionState): void;
  ask?(approval: OpenApproval, waiting: number, signal: AbortSignal): Promise<PromptResult>;
}

/** Shows a run as text until it ends, and asks about its calls if a person can answer. */
export async function followText(deps: FollowDeps, signal: AbortSignal): Promise<RunEnd | null> {
  const { client, hostWait, terminal, accepted } = deps;
  const view = await openView(terminal);
  const approvals = new RunApprovals(deps, view);
  const differ = new TranscriptDiffer();
  let retryText: string | null = null;
  const stallWatch = watchForStall({
    client,
    isWaiting: () => true,
    onReasons: (reasons) => view.status(reasons),
  });
  try {
    const following = AbortSignal.any([signal, approvals.left]);
    const options = { signal: following, onConnection: connectionListener(hostWait, view) };
    for await (const item of client.open(accepted.sessionId, options)) {
      stallWatch.reset();
      if (item.kind === "ended") return { state: "failed", cause: item.error.code };
      if (item.kind === "status") view.status(item.status.text ?? "");
      if (item.kind !== "state") continue;
      const ownState = onlyRun(item.state, accepted.runId);
      view.show(differ.diff(ownState).filter(({ kind }) => kind !== "userMessage"));
      view.activity?.(ownState);
      const nextRetryText = ownState.run && describeRetry(ownState.run);
      if (nextRetryText !== retryText) view.status(nextRetryText ?? "");
      retryText = nextRetryText;
      if (approvals.update(ownState)) continue;
      const end = await endOf(client, item.state, accepted.runId);
      if (end !== null) return finish(end, ownState, { view, session: accepted.sessionId });
    }
    if (!approvals.left.aborted) return null;
    return finish({ state: "waiting", cause: null }, null, { view, session: accepted.sessionId });
  } finally {
    approvals.stop();
    stallWatch.stop();
    view.close();
  }
}

/** Asks about the calls of a run, one after the other, until they are answered here or elsewhere. */
class RunApprovals {
  readonly #deps: FollowDeps;
  readonly #view: RunView;
  readonly #leaving = new AbortController();
  #asked: { readonly id: string; readonly settled: AbortController } | null = null;

  constructor(deps: FollowDeps, view: RunView) {
    this.#deps = deps;
    this.#view = view;
  }

  /** Aborted when the person leaves the run waiting. */
  get left(): AbortSignal {
    return this.#leaving.signal;
  }

  /** Whether a person is asked, so that the run is not left waiting. */
  update(state: SessionState): boolean {
    const approvals = state.live?.approvals ?? [];
    const [next] = approvals;
    if (this.#asked !== null && this.#asked.id !== next?.approvalId) this.stop();
    if (this.#view.ask === undefined || !waitsForPerson(state)) return false;
    if (next !== undefined && this.#asked === null) void this.#ask(next, approvals.length);
    return true;
  }

  stop(): void {
    this.#asked?.settled.abort();
    this.#asked = null;
  }

  async #ask(approval: OpenApproval, waiting: number): Promise<void> {
    const { client, hostWait, accepted } = this.#deps;
    const settled = new AbortController();
    this.#asked = { id: approval.approvalId, settled };
    const result = await this.#view.ask?.(approval, waiting, settled.signal);
    if (result === undefined || result === "answered") return;
    if (result === "leave") return this.#leaving.abort();
    if (result === "stop") {
      await client.cancelRun({ params: { id: accepted.runId } });
      return;
    }
    const params = { id: approval.approvalId };
    const headers = { "idempotency-key": randomUUID() };
    const answered = await hostWait.retryUntilAnswered(() =>
      client.answerApproval({ params, headers, body: { ...result } }),
    );
    if (answered.ok || answered.error.code === "approval_answered") return;
    this.#view.note(describeError(answered.error));
    this.#leaving.abort();
  }
}

/** Loads the screen code only for a terminal. */
async function openView(terminal: Terminal): Promise<RunView> {
  if (terminal.output.isTTY !== true) return createPipeWriter(terminal);
  const { createRunScreen } = await import("./run-screen.ts");
  return createRunScreen(terminal);
}

function connectionListener(hostWait: HostWait, view: RunView) {
  return (state: "live" | "reconnecting" | "offline"): void => {
    hostWait.onConnection(state);
    view.status(state === "live" ? "" : runStrings.waitingForHost);
  };
}

function finish(
  end: RunEnd,
  state: SessionState | null,
  { view, session }: { readonly view: RunView; readonly session: SessionId },
): RunEnd {
  if (end.state === "waiting") {
    for (const approval of state?.live?.approvals ?? []) view.note(describeWait(approval));
    view.note(runStrings.answerIt(shortId(session)));
  }
  if (end.state === "paused") view.note(runStrings.paused(shortId(session)));
  return end;
}

function describeWait(approval: OpenApproval): string {
  const question = questionIn(approval);
  if (question !== undefined) return runStrings.needsAnswer(question.question);
  return runStrings.needsApproval(describeCall(approval.name, approval.input));
}

/** Leaves out what others do in the same session. */
function onlyRun(state: SessionState, runId: RunId): SessionState {
  return {
    ...state,
    entries: state.entries.filter((entry) => entry.runId === runId),
    live: state.live?.runId === runId ? state.live : null,
    run: state.run?.id === runId ? state.run : null,
  };
}

function isEnd(state: RunState): boolean {
  return terminalStates.has(state) || state === "waiting" || state === "paused";
}

/** The run is the current one, or still queued, or it ended unobserved. */
async function endOf(client: Client, state: SessionState, id: RunId): Promise<RunEnd | null> {
  const { run: current, inbox } = state;
  if (current?.id === id) {
    if (isEnd(current.state)) return current;
    return waitsForPerson(state) ? { state: "waiting", cause: null } : null;
  }
  if (inbox.some((item) => item.runId === id)) return null;
  return readEnd(client, id);
}

export async function readEnd(client: Client, id: RunId): Promise<RunEnd | null> {
  const result = await client.readRun({ params: { id } });
  return result.ok && isEnd(result.value.run.state) ? result.value.run : null;
}
