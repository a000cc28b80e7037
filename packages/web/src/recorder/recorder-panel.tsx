import { useEffect, useEffectEvent, useState } from "react";
import { Icon } from "../ui/icons.tsx";
import { strings } from "../strings/strings.ts";
import { playbackAt, skipWaits, type Timeline } from "./timeline.ts";
import { labelOf, TimelineChart } from "./timeline-chart.tsx";
import type { RunId, Seq, SessionId } from "@holdfast/protocol";
import { useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { Panel } from "../ui/panel.tsx";
import { useRecording } from "./use-recording.ts";

const speeds = [1, 4, 16] as const;

/** The run again, as it was: by its stored times, from any of them on. */
export function Player({ timeline }: { timeline: Timeline }) {
  const { startedAt, endedAt } = timeline;
  const [stopped, setStopped] = useState<number | null>(null);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<number>(1);
  const w = strings.recorder;
  // Until somebody moves it, it stands at the end, which of a run that goes on is now.
  const at = Math.min(stopped ?? endedAt, endedAt);
  const isPlaying = playing && at < endedAt;
  useClock(isPlaying, (ms) =>
    setStopped((held) => {
      const next = skipWaits(timeline, (held ?? startedAt) + ms * speed);
      return next < endedAt ? next : null;
    }),
  );
  function playOrPause(): void {
    if (!isPlaying && at >= endedAt) setStopped(startedAt);
    setPlaying(!isPlaying);
  }
  return (
    <>
      <div className="row player">
        <button type="button" className="button primary" onClick={playOrPause}>
          <Icon name={isPlaying ? "stop" : "play"} />
          {isPlaying ? w.pause : w.replay}
        </button>
        <fieldset className="row speeds">
          <legend className="hidden-text">{w.speed}</legend>
          {speeds.map((each) => (
            <label key={each} className="choice">
              <input
                type="radio"
                name="speed"
                checked={each === speed}
                onChange={() => setSpeed(each)}
              />
              <span>{w.times(each)}</span>
            </label>
          ))}
        </fieldset>
        <output className="quiet clock">{w.clock(at - startedAt, endedAt - startedAt)}</output>
      </div>
      <input
        className="scrub"
        type="range"
        aria-label={w.place}
        min={0}
        max={Math.max(1, endedAt - startedAt)}
        value={at - startedAt}
        onChange={(event) => setStopped(startedAt + Number(event.target.value))}
      />
      <TimelineChart timeline={timeline} at={at} />
      <PlaybackView timeline={timeline} at={at} />
    </>
  );
}

/** Counts while it plays, as often as the screen is drawn. */
function useClock(isRunning: boolean, pass: (ms: number) => void): void {
  const onFrame = useEffectEvent(pass);
  useEffect(() => {
    if (!isRunning) return;
    let last: number | null = null;
    let request = requestAnimationFrame(count);
    function count(now: number): void {
      if (last !== null) onFrame(now - last);
      last = now;
      request = requestAnimationFrame(count);
    }
    return () => cancelAnimationFrame(request);
  }, [isRunning]);
}

function PlaybackView({ timeline, at }: { timeline: Timeline; at: number }) {
  const w = strings.recorder;
  return (
    <section className="settings-part" aria-label={w.seen}>
      <h3>{w.seen}</h3>
      <div className="seen">
        {playbackAt(timeline, at).map((moment) =>
          moment.kind === "said" ? (
            <p key={moment.id} className="as-written" dir="auto">
              {moment.text}
            </p>
          ) : (
            <p key={moment.id} className="aside">
              <Icon name={moment.span.kind === "tool" ? "terminal" : "clock"} />
              {`${labelOf(moment.span)}${moment.isOver ? "" : "…"}`}
            </p>
          ),
        )}
      </div>
    </section>
  );
}

interface RecorderPanelProps {
  readonly id: SessionId;
  readonly runId: RunId;
  /** The run's events come after this one. */
  readonly after: Seq;
  readonly onClose: () => void;
}

/** The flight recorder: one run, stretch by stretch, and again. */
export function RecorderPanel({ id, runId, after, onClose }: RecorderPanelProps) {
  const { client } = useApp();
  const { timeline, trouble } = useRecording(client, id, runId, after);
  const w = strings.recorder;
  return (
    <Panel title={w.title} onClose={onClose}>
      {trouble !== null && <p className="quiet">{trouble}</p>}
      {timeline === null && trouble === null && <p className="quiet late">{w.reading}</p>}
      {timeline !== null && (
        <>
          <p className="quiet">
            {w.lead(formatMoment(timeline.startedAt), timeline.state ?? "running")}
          </p>
          <Player timeline={timeline} />
        </>
      )}
    </Panel>
  );
}
