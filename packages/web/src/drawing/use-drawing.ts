import { useEffect, useState } from "react";
import { createDrawingQueue, type DrawingOutcome } from "./drawing-queue.ts";
import type { DrawingJob } from "./jobs.ts";
import { openDrawingFrame } from "./open-frame.ts";

/** One for the page: nothing is loaded until somebody draws. */
const drawingQueue = createDrawingQueue(openDrawingFrame);

/** What became of it; `null` while it is drawn, and where there is nothing to draw. */
export function useDrawing(job: DrawingJob | null): DrawingOutcome | null {
  const key = job === null ? "" : JSON.stringify(job);
  const [latest, setLatest] = useState<{ key: string; outcome: DrawingOutcome } | null>(null);
  const known = job === null ? undefined : drawingQueue.cached(job);
  useEffect(() => {
    if (key === "" || known !== undefined) return;
    let left = false;
    // It is the very text that was made of it above.
    void drawingQueue.draw(JSON.parse(key) as DrawingJob).then((outcome) => {
      if (!left) setLatest({ key, outcome });
      return undefined;
    });
    return () => {
      left = true;
    };
  }, [key, known]);
  if (job === null) return null;
  return known ?? (latest?.key === key ? latest.outcome : null);
}
