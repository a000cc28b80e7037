import type { DrawingRequest, DrawingAnswer } from "../jobs.ts";

/**
 * Runs in a sandboxed frame without an origin, without a network and without a word of the page: what a model wrote is drawn
 * here and nowhere else. Renderers are loaded when the first formula or diagram comes.
 */
async function draw(asked: DrawingRequest): Promise<DrawingAnswer> {
  const { id } = asked;
  try {
    if (asked.kind === "formula") {
      const { drawFormula } = await import("./draw-formula.ts");
      return { kind: "formula", id, tree: drawFormula(asked.source, asked.layout) };
    }
    const { drawDiagram } = await import("./draw-diagram.ts");
    return { kind: "diagram", id, ...(await drawDiagram(asked.source, asked.theme)) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: "refused", id, message: message.slice(0, 500) };
  }
}

addEventListener("message", ({ ports: [port], source }) => {
  if (port === undefined || source !== parent) return;
  // One after the other: a renderer of diagrams keeps its state in the document.
  let before: Promise<unknown> = Promise.resolve();
  port.addEventListener("message", ({ data }: MessageEvent<DrawingRequest>) => {
    before = before.then(async () => port.postMessage(await draw(data)));
  });
  port.start();
});
