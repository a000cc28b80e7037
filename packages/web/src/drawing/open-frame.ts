import type { DrawingFrame, OpenDrawingFrame } from "./drawing-queue.ts";

/**
 * A frame without an origin: no cookie, no storage and no document of ours is within its reach, and its own policy gives it no
 * network. It is laid out, since a diagram measures its words, and never seen.
 */
export const openDrawingFrame: OpenDrawingFrame = (onAnswer): DrawingFrame => {
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
