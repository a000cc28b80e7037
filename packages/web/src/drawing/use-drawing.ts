import { useEffect, useState } from "react";
import {
  type DrawingFrame,
  type OpenDrawingFrame,
  createDrawingQueue,
  type DrawingOutcome,
} from "./drawing-queue.ts";
import type { DrawingJob } from "./jobs.ts";

/**
 * A frame without an origin: it cannot reach our cookies, storage or document, and its own policy gives it no network.
 * It is hidden but still laid out, because diagrams measure their text.
 */
const openDrawingFrame: OpenDrawingFrame = (onAnswer): DrawingFrame => {
  const element = document.createElement("iframe");
  element.sandbox.add("allow-scripts");
  element.className = "drawing-frame";
  element.title = "";
  element.tabIndex = -1;
  element.setAttribute("aria-hidden", "true");
  element.src = new URL("frame.html", document.baseURI).href;
  const { port1: port, port2: framePort } = new MessageChannel();
  // The frame has no origin to name here; the page only ever sends it text to draw.
  element.addEventListener(
    "load",
    () => element.contentWindow?.postMessage(null, "*", [framePort]),
    {
      once: true,
    },
  );
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

/** One for the page. It loads nothing before the first job. */
const drawingQueue = createDrawingQueue(openDrawingFrame);

/** The drawing of a job; `null` while it is drawn, and without a job. */
export function useDrawing(job: DrawingJob | null): DrawingOutcome | null {
  const key = job === null ? "" : JSON.stringify(job);
  const [latest, setLatest] = useState<{ key: string; outcome: DrawingOutcome } | null>(null);
  const cached = job === null ? undefined : drawingQueue.cached(job);
  useEffect(() => {
    if (key === "" || cached !== undefined) return;
    let isUnmounted = false;
    // `key` was made by JSON.stringify above.
    void drawingQueue.draw(JSON.parse(key) as DrawingJob).then((outcome) => {
      if (!isUnmounted) setLatest({ key, outcome });
      return undefined;
    });
    return () => {
      isUnmounted = true;
    };
  }, [key, cached]);
  if (job === null) return null;
  return cached ?? (latest?.key === key ? latest.outcome : null);
}
