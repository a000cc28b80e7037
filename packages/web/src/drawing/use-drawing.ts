import { useEffect, useState } from "react";
import { createDrawings, type Outcome } from "./drawing-queue.ts";
import type { DrawingJob } from "./jobs.ts";
import { openFrame } from "./open-frame.ts";

/** One for the page: nothing is loaded until somebody draws. */
const drawings = createDrawings(openFrame);

/** What became of it; `null` while it is drawn, and where there is nothing to draw. */
export function useDrawing(job: DrawingJob | null): Outcome | null {
  const key = job === null ? "" : JSON.stringify(job);
  const [latest, setLatest] = useState<{ key: string; outcome: Outcome } | null>(null);
  const known = job === null ? undefined : drawings.known(job);
  useEffect(() => {
    if (key === "" || known !== undefined) return;
    let left = false;
    // It is the very text that was made of it above.
    void drawings.draw(JSON.parse(key) as DrawingJob).then((outcome) => {
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
