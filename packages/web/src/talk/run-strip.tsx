import { liveRun, type SessionState, tryingAgain } from "@holdfast/client";
import { type RunView, terminalStates } from "@holdfast/protocol";
import { Icon } from "../ui/icons.tsx";
import { words } from "../strings/strings.ts";
import { useTalk } from "./store/talk-actions.ts";

/** How the run stands, in words: working, waiting for a person, or ended in a way that asks for one. */
export function RunStrip({ state }: { state: SessionState }) {
  const live = liveRun(state);
  if (live !== null)
    return live.state === "paused" ? <Paused run={live} /> : <Working state={state} run={live} />;
  return state.run === null || state.inbox.length > 0 ? null : <Ended run={state.run} />;
}

function Working({ state, run }: { state: SessionState; run: RunView }) {
  const isWaiting = run.state === "waiting";
  return (
    <output className={`strip ${isWaiting ? "attention" : ""}`}>
      <span className={`dot ${isWaiting ? "notice" : "breathing"}`} />
      <span>{doing(state, run)}</span>
      {run.attempt > 1 && <span className="quiet">{words.run.attempt(run.attempt)}</span>}
    </output>
  );
}

function doing({ live }: SessionState, run: RunView): string {
  if (run.cancelRequested) return words.run.stopping;
  if (run.state === "waiting") return words.run.waiting;
  const tool = live?.tools.find(({ outcome }) => outcome === null);
  if (tool !== undefined) return words.run.usingTool(tool.name);
  const again = tryingAgain(run);
  if (again !== null) return again;
  const part = live?.messages.at(-1)?.parts.at(-1);
  if (part === undefined) return words.run.starting;
  return part.kind === "reasoning" ? words.run.thinking : words.run.working;
}

function Paused({ run }: { run: RunView }) {
  const talk = useTalk();
  return (
    <section className="strip card attention" aria-label={words.run.paused}>
      <Icon name="warning" />
      <div>
        <h3>{words.run.paused}</h3>
        <p className="quiet">{words.run.pausedLead}</p>
      </div>
      <div className="row">
        <button type="button" className="button primary" onClick={() => talk.resume(run.id)}>
          {words.run.resume}
        </button>
        <button type="button" className="button" onClick={() => talk.stop(run.id)}>
          {words.run.end}
        </button>
      </div>
    </section>
  );
}

/** A run that did not complete: what is kept, why, and how to go on. */
function Ended({ run }: { run: RunView }) {
  const talk = useTalk();
  const { state } = run;
  if (!terminalStates.has(state) || state === "completed") return null;
  if (state !== "failed" && state !== "interrupted" && state !== "limit" && state !== "cancelled")
    return null;
  return (
    <section className="strip card" aria-label={words.run.ended[state]}>
      <Icon name={state === "cancelled" ? "stop" : "warning"} />
      <div>
        <h3>{words.run.ended[state]}</h3>
        {run.cause !== null && <p className="quiet">{words.run.cause(run.cause)}</p>}
      </div>
      <div className="row">
        <button type="button" className="button" onClick={() => talk.resume(run.id)}>
          <Icon name="play" />
          {words.run.resume}
        </button>
        <button type="button" className="button plain" onClick={() => talk.askAgain()}>
          {words.run.retry}
        </button>
      </div>
    </section>
  );
}
