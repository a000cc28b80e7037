import type { DrawingRequest, DrawingAnswer } from "../jobs.ts";

/**
 * Runs in a sandboxed frame without an origin, network or access to the page: a model's formulas and diagrams are rendered
 * here and nowhere else. Loads a renderer with the first job that needs it.
 */
async function draw(request: DrawingRequest): Promise<DrawingAnswer> {
  const { id } = request;
  try {
    if (request.kind === "formula") {
      const { drawFormula } = await import("./draw-formula.ts");
      return { kind: "formula", id, tree: drawFormula(request.source, request.layout) };
    }
    const { drawDiagram } = await import("./draw-diagram.ts");
    return { kind: "diagram", id, ...(await drawDiagram(request.source, request.theme)) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: "refused", id, message: message.slice(0, 500) };
  }
}

addEventListener("message", ({ ports: [port], source }) => {
  if (port === undefined || source !== parent) return;
  // One at a time: Mermaid keeps state in the document.
  let previous: Promise<unknown> = Promise.resolve();
  port.addEventListener("message", ({ data }: MessageEvent<DrawingRequest>) => {
    previous = previous.then(async () => port.postMessage(await draw(data)));
  });
  port.start();
});
