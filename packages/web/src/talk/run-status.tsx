import { useEffect, useState } from "react";
import { type LiveView, type ProcessView, type RunView, terminalStates } from "@holdfast/protocol";
import { problemText, useApp, useStore } from "../app-context.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";
import {
  liveRun,
  type SessionState,
  describeRetry,
  describeRetryCause,
  waitsForPerson,
} from "@holdfast/client";
import { Icon } from "../ui/icons.tsx";
import { ProcessOutput } from "./transcript/process-output.tsx";
import { RaiseLimit } from "./raise-limit.tsx";
import { useTalk } from "./store/talk-actions.ts";

interface RunStatusProps {
  readonly state: SessionState;
  /** Whether the page follows the run right now. */
  readonly isConnected: boolean;
  /** When the model is called again, while the run waits for that. */
  readonly retryAt: number | null;
}

/** The state of the run in words: working, waiting for a person, or ended in a way that needs one. */
export function RunStatus({ state, isConnected, retryAt }: RunStatusProps) {
  const live = liveRun(state);
  if (live !== null)
    return live.state === "paused" ? (
      <PausedStatus run={live} />
    ) : (
      <WorkingStatus state={state} run={live} isConnected={isConnected} retryAt={retryAt} />
    );
  return state.run === null || state.inbox.length > 0 ? null : <EndedStatus run={state.run} />;
}

function WorkingStatus({
  state,
  run,
  isConnected,
  retryAt,
}: RunStatusProps & { readonly run: RunView }) {
  const talk = useTalk();
  const isWaiting = waitsForPerson(state);
  // Nobody knows here how far it is: nothing pulses as if somebody did.
  if (!isConnected)
    return (
      <output className="strip">
        <span className="dot off" />
        <span>{strings.run.disconnected}</span>
      </output>
    );
  return (
    <output className={`strip ${isWaiting ? "attention" : ""}`}>
      <span className={`dot ${isWaiting ? "notice" : "pulsing"}`} />
      {isWaiting ? (
        // The approval is the newest item in the transcript, which may be scrolled up.
        <button type="button" className="strip-button" onClick={talk.showNewest}>
          {activityText(state, run, retryAt)}
        </button>
      ) : (
        <span>{activityText(state, run, retryAt)}</span>
      )}
      {retryAt !== null && describeRetry(run) !== null && <RetryCountdown at={retryAt} />}
      {isWaiting && state.live !== null && <AnswerAll approvals={state.live.approvals} />}
      {run.attempt > 1 && <span className="quiet">{strings.run.attempt(run.attempt)}</span>}
    </output>
  );
}

function RetryCountdown({ at }: { at: number }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.ceil((at - now) / 1_000);
  return seconds > 0 ? <span className="quiet">{strings.run.retryIn(seconds)}</span> : null;
}

/** Answers every call that waits, once each of them has been in view. */
function AnswerAll({ approvals }: Pick<LiveView, "approvals">) {
  const talk = useTalk();
  const seen = useStore(talk.seenApprovals);
  const calls = approvals.filter(({ kind }) => kind === undefined);
  const isAllowable = calls.every(
    ({ approvalId, hidden }) => seen.has(approvalId) && hidden === undefined,
  );
  if (calls.length < 2) return null;
  const answerAll = (decision: "once" | "deny") => (): void => {
    for (const { approvalId } of calls) void talk.answer(approvalId, { decision });
  };
  return (
    <>
      <span className="spacer" />
      <button
        type="button"
        className="button"
        disabled={!isAllowable}
        title={isAllowable ? undefined : strings.approval.allowAllUnseen}
        onClick={answerAll("once")}
      >
        {strings.approval.allowAll(calls.length)}
      </button>
      <button type="button" className="button warn" onClick={answerAll("deny")}>
        {strings.approval.denyAll}
      </button>
    </>
  );
}

/** Questions wait, and nothing that needs an approval. */
function asksOnly(live: LiveView | null): boolean {
  const approvals = live?.approvals ?? [];
  return (
    approvals.length > 0 &&
    approvals.every(({ kind, plan }) => kind === "question" && plan !== true)
  );
}

function activityText(state: SessionState, run: RunView, retryAt: number | null): string {
  const { live } = state;
  if (run.cancelRequested) return strings.run.stopping;
  if (waitsForPerson(state))
    return asksOnly(live) ? strings.run.waitingForAnswer : strings.run.waiting;
  const tool = live?.tools.find(({ outcome }) => outcome === null);
  if (tool !== undefined) return strings.run.usingTool(tool.name);
  const retry = retryAt === null ? describeRetry(run) : describeRetryCause(run);
  if (retry !== null) return retry;
  const part = live?.messages.at(-1)?.parts.at(-1);
  if (part === undefined) return strings.run.starting;
  return part.kind === "reasoning" ? strings.run.thinking : strings.run.working;
}

function PausedStatus({ run }: { run: RunView }) {
  const talk = useTalk();
  return (
    <section className="strip card attention" aria-label={strings.run.paused}>
      <Icon name="warning" />
      <div>
        <h3>{strings.run.paused}</h3>
        <p className="quiet">{strings.run.pausedLead}</p>
      </div>
      <div className="row">
        <button type="button" className="button primary" onClick={() => talk.resume(run.id)}>
          {strings.run.resume}
        </button>
        <button type="button" className="button" onClick={() => talk.stop(run.id)}>
          {strings.run.end}
        </button>
      </div>
    </section>
  );
}

/** Failures that a person mends in the settings of models and keys. */
const keyProblems: ReadonlySet<string> = new Set([
  "model_unauthorized",
  "model_no_credit",
  "model_unusable",
  "model_unknown",
]);

/** A run that did not complete: why, and how to go on. */
function EndedStatus({ run }: { run: RunView }) {
  const talk = useTalk();
  const { router } = useApp();
  const { state } = run;
  if (!terminalStates.has(state) || state === "completed") return null;
  if (state !== "failed" && state !== "interrupted" && state !== "limit" && state !== "cancelled")
    return null;
  return (
    <section className="strip card" aria-label={strings.run.ended[state]}>
      <Icon name={state === "cancelled" ? "stop" : "warning"} />
      <div>
        <h3>{strings.run.ended[state]}</h3>
        {run.cause !== null && <p className="quiet">{strings.run.cause(run.cause)}</p>}
        <RaiseLimit run={run} />
      </div>
      <div className="row">
        {run.cause !== null && keyProblems.has(run.cause) && (
          <button
            type="button"
            className="button primary"
            onClick={() => router.go({ kind: "settings", section: "models" })}
          >
            <Icon name="key" />
            {strings.run.openModels}
          </button>
        )}
        <button type="button" className="button" onClick={() => talk.resume(run.id)}>
          <Icon name="play" />
          {strings.run.resume}
        </button>
        <button type="button" className="button plain" onClick={() => talk.retry()}>
          {strings.run.retry}
        </button>
      </div>
    </section>
  );
}

/** The background processes of a conversation, with a button to stop each. */
export function BackgroundProcesses({ processes }: { processes: readonly ProcessView[] }) {
  const { client, toasts } = useApp();
  const [shown, setShown] = useState(processes);
  const t = strings.command;

  async function stop({ id }: ProcessView): Promise<void> {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const stopped = await client.stopProcess({ params: { id }, headers });
    if (!stopped.ok) return toasts.show(problemText(stopped.error));
    const { process } = stopped.value;
    setShown((old) =>
      old.map((shownProcess) => (shownProcess.id === process.id ? process : shownProcess)),
    );
  }

  if (shown.length === 0) return <p className="quiet">{t.nothingInBackground}</p>;
  return (
    <ul className="facts-list">
      {shown.map((process) => (
        <li key={process.id}>
          <span className="fact-text">
            <code dir="ltr">{revealInvisible(process.command)}</code>
            <span className="quiet">
              {process.end ?? (process.state === "running" ? t.runs : t.isStopped)}
            </span>
            <ProcessOutput id={process.id} isOpen={false} />
          </span>
          {process.state === "running" && (
            <button
              type="button"
              className="button"
              aria-label={t.stopNamed(process.command)}
              onClick={() => void stop(process)}
            >
              {t.stop}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
