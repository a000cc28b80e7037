import type { RunId, Seq, SessionId } from "@holdfast/protocol";
import { useApp } from "../app-context.ts";
import { Icon, momentOf } from "../ui/index.ts";
import { words } from "../words.ts";
import { Player } from "./player.tsx";
import { useRecording } from "./use-recording.ts";

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
  const w = words.recorder;
  return (
    <aside className="panel" aria-label={w.title}>
      <header className="bar">
        <h2>{w.title}</h2>
        <span className="spread" />
        <button
          type="button"
          className="icon-button"
          aria-label={words.common.close}
          title={words.common.close}
          onClick={onClose}
        >
          <Icon name="close" />
        </button>
      </header>
      <div className="panel-body">
        {trouble !== null && <p className="quiet">{trouble}</p>}
        {timeline === null && trouble === null && <p className="quiet late">{w.reading}</p>}
        {timeline !== null && (
          <>
            <p className="quiet">
              {w.lead(momentOf(timeline.startedAt), timeline.state ?? "running")}
            </p>
            <Player timeline={timeline} />
          </>
        )}
      </div>
    </aside>
  );
}
