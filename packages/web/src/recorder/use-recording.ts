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

/** The timeline of a run from its stored events, updated while the run is going. */
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

/** Events come in bursts; the timeline is rebuilt once per batch. */
const batchMs = 100;

async function follow(
  client: Client,
  { id, runId, after }: RecordingRequest,
  signal: AbortSignal,
  show: (recording: Recording) => void,
): Promise<void> {
  const events: StoredEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  const render = (): void => {
    timer = null;
    if (!signal.aborted) show({ timeline: readTimeline(runId, events), trouble: null });
  };
  for await (const item of client.follow(id, after, { signal })) {
    if (signal.aborted) break;
    if (item.kind === "ended") return show({ timeline: null, trouble: problemText(item.error) });
    if (item.kind === "resync") return show({ timeline: null, trouble: strings.recorder.tooFar });
    if (item.kind !== "event" || item.event.runId !== runId) continue;
    events.push(item.event);
    timer ??= setTimeout(render, batchMs);
    if (item.event.type !== "run.state") continue;
    const timeline = readTimeline(runId, events);
    if (timeline === null || !hasEnded(timeline)) continue;
    clearTimeout(timer);
    return render();
  }
}
