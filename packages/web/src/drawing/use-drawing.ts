import { useEffect, useState } from "react";
import {
  type DrawingFrame,
  type OpenDrawingFrame,
  createDrawingQueue,
  type DrawingOutcome,
} from "./drawing-queue.ts";
import type { DrawingJob } from "./jobs.ts";

/**
 * A frame without an origin: no cookie, no storage and no document of ours is within its reach, and its own policy gives it no
 * network. It is laid out, since a diagram measures its words, and never seen.
 */
const openDrawingFrame: OpenDrawingFrame = (onAnswer): DrawingFrame => {
  const element = document.createElement("iframe");
  element.sandbox.add("allow-scripts");
  element.className = "drawing-frame";
  element.title = "";
  element.tabIndex = -1;
  element.setAttribute("aria-hidden", "true");
  element.src = new URL("frame.html", document.baseURI).href;
  const { port1: port, port2: theirs } = new MessageChannel();
  // It has no origin that could be named here; all that it is told are words to draw.
  element.addEventListener("load", () => element.contentWindow?.postMessage(null, "*", [theirs]), {
    once: true,
  });
  port.addEventListener("message", ({ data }) => onAnswer(data));
  port.start();
  document.body.append(element);
  return {
    post: (job) => port.postMessage(job),
    close() {
      port.close();
      element.remove();
    },
  };
};

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
