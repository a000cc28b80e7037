import { useState } from "react";
import { type ProcessView, type RunView, terminalStates } from "@holdfast/protocol";
import { problemText, useApp } from "../app-context.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";
import { liveRun, type SessionState, describeRetry } from "@holdfast/client";
import { Icon } from "../ui/icons.tsx";
import { useTalk } from "./store/talk-actions.ts";

/** The state of the run in words: working, waiting for a person, or ended in a way that needs one. */
export function RunStatus({ state }: { state: SessionState }) {
  const live = liveRun(state);
  if (live !== null)
    return live.state === "paused" ? (
      <PausedStatus run={live} />
    ) : (
      <WorkingStatus state={state} run={live} />
    );
  return state.run === null || state.inbox.length > 0 ? null : <EndedStatus run={state.run} />;
}

function WorkingStatus({ state, run }: { state: SessionState; run: RunView }) {
  const talk = useTalk();
  const isWaiting = run.state === "waiting";
  return (
    <output className={`strip ${isWaiting ? "attention" : ""}`}>
      <span className={`dot ${isWaiting ? "notice" : "pulsing"}`} />
      {isWaiting ? (
        // The approval is the newest item in the transcript, which may be scrolled up.
        <button type="button" className="strip-button" onClick={talk.showNewest}>
          {activityText(state, run)}
        </button>
      ) : (
        <span>{activityText(state, run)}</span>
      )}
      {run.attempt > 1 && <span className="quiet">{strings.run.attempt(run.attempt)}</span>}
    </output>
  );
}

function activityText({ live }: SessionState, run: RunView): string {
  if (run.cancelRequested) return strings.run.stopping;
  if (run.state === "waiting") return strings.run.waiting;
  const tool = live?.tools.find(({ outcome }) => outcome === null);
  if (tool !== undefined) return strings.run.usingTool(tool.name);
  const retry = describeRetry(run);
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

/** A run that did not complete: why, and how to go on. */
function EndedStatus({ run }: { run: RunView }) {
  const talk = useTalk();
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
      </div>
      <div className="row">
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
