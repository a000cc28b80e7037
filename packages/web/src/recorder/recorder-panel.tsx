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

interface RecorderPanelProps {
  readonly id: SessionId;
  readonly runId: RunId;
  /** An event before the run's first one. */
  readonly after: Seq;
  readonly onClose: () => void;
}

/** The flight recorder: the spans of one run, and its replay. */
export function RecorderPanel({ id, runId, after, onClose }: RecorderPanelProps) {
  const { client } = useApp();
  const { timeline, trouble } = useRecording(client, id, runId, after);
  const t = strings.recorder;
  return (
    <Panel title={t.title} onClose={onClose}>
      {trouble !== null && <p className="quiet">{trouble}</p>}
      {timeline === null && trouble === null && <p className="quiet fade-in-late">{t.reading}</p>}
      {timeline !== null && (
        <>
          <p className="quiet">
            {t.lead(formatMoment(timeline.startedAt), timeline.state ?? "running")}
          </p>
          <Player timeline={timeline} />
        </>
      )}
    </Panel>
  );
}

const speeds = [1, 4, 16] as const;

/** Replays a run by its stored times, from any point. */
function Player({ timeline }: { timeline: Timeline }) {
  const { startedAt, endedAt } = timeline;
  const [position, setPosition] = useState<number | null>(null);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<number>(1);
  const t = strings.recorder;
  // Until somebody moves it, it is at the end, which is now for a run that is still going.
  const at = Math.min(position ?? endedAt, endedAt);
  const isPlaying = playing && at < endedAt;
  useClock(isPlaying, (ms) =>
    setPosition((old) => {
      const next = skipWaits(timeline, (old ?? startedAt) + ms * speed);
      return next < endedAt ? next : null;
    }),
  );
  function playOrPause(): void {
    if (!isPlaying && at >= endedAt) setPosition(startedAt);
    setPlaying(!isPlaying);
  }
  return (
    <>
      <div className="row player">
        <button type="button" className="button primary" onClick={playOrPause}>
          <Icon name={isPlaying ? "stop" : "play"} />
          {isPlaying ? t.pause : t.replay}
        </button>
        <fieldset className="row speeds">
          <legend className="hidden-text">{t.speed}</legend>
          {speeds.map((option) => (
            <label key={option} className="choice">
              <input
                type="radio"
                name="speed"
                checked={option === speed}
                onChange={() => setSpeed(option)}
              />
              <span>{t.times(option)}</span>
            </label>
          ))}
        </fieldset>
        <output className="quiet clock">{t.clock(at - startedAt, endedAt - startedAt)}</output>
      </div>
      <input
        className="scrub"
        type="range"
        aria-label={t.position}
        min={0}
        max={Math.max(1, endedAt - startedAt)}
        value={at - startedAt}
        onChange={(event) => setPosition(startedAt + Number(event.target.value))}
      />
      <TimelineChart timeline={timeline} at={at} />
      <PlaybackView timeline={timeline} at={at} />
    </>
  );
}

/** Calls `onTick` once per animation frame with the time since the last one. */
function useClock(isRunning: boolean, onTick: (ms: number) => void): void {
  const onFrame = useEffectEvent(onTick);
  useEffect(() => {
    if (!isRunning) return;
    let last: number | null = null;
    let request = requestAnimationFrame(tick);
    function tick(now: number): void {
      if (last !== null) onFrame(now - last);
      last = now;
      request = requestAnimationFrame(tick);
    }
    return () => cancelAnimationFrame(request);
  }, [isRunning]);
}

function PlaybackView({ timeline, at }: { timeline: Timeline; at: number }) {
  const t = strings.recorder;
  return (
    <section className="settings-section" aria-label={t.playback}>
      <h3>{t.playback}</h3>
      <div className="playback">
        {playbackAt(timeline, at).map((moment) =>
          moment.kind === "text" ? (
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
