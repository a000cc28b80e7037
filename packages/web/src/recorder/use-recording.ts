import type { Client } from "@holdfast/client";
import type { RunId, Seq, SessionId, StoredEvent } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { problemText } from "../app-context.ts";
import { strings } from "../strings/strings.ts";
import { hasEnded, readTimeline, type Timeline } from "./timeline.ts";

export interface Recording {
  readonly timeline: Timeline | null;
  readonly trouble: string | null;
}

/** A run's events from the log, up to its end; of a run that goes on, as they come. */
export function useRecording(client: Client, id: SessionId, runId: RunId, after: Seq): Recording {
  const [recording, setRecording] = useState<Recording>({ timeline: null, trouble: null });
  useEffect(() => {
    const leaving = new AbortController();
    void follow(client, { id, runId, after }, leaving.signal, setRecording);
    return () => leaving.abort();
  }, [client, id, runId, after]);
  return recording;
}

interface RecordingRequest {
  readonly id: SessionId;
  readonly runId: RunId;
  readonly after: Seq;
}

/** Many events come at once; they are looked at together. */
const batchMs = 100;

async function follow(
  client: Client,
  { id, runId, after }: RecordingRequest,
  signal: AbortSignal,
  show: (recording: Recording) => void,
): Promise<void> {
  const events: StoredEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  const draw = (): void => {
    timer = null;
    if (!signal.aborted) show({ timeline: readTimeline(runId, events), trouble: null });
  };
  for await (const item of client.follow(id, after, { signal })) {
    if (signal.aborted) break;
    if (item.kind === "ended") return show({ timeline: null, trouble: problemText(item.error) });
    if (item.kind === "resync") return show({ timeline: null, trouble: strings.recorder.tooFar });
    if (item.kind !== "event" || item.event.runId !== runId) continue;
    events.push(item.event);
    timer ??= setTimeout(draw, batchMs);
    if (item.event.type !== "run.state") continue;
    const timeline = readTimeline(runId, events);
    if (timeline === null || !hasEnded(timeline)) continue;
    clearTimeout(timer);
    return draw();
  }
}
