import type { RunId, Seq, SessionId } from "@holdfast/protocol";
import { useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { Panel } from "../ui/panel.tsx";
import { strings } from "../strings/strings.ts";
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
