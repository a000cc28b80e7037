import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createDrawingQueue, type DrawingFrame } from "./drawing-queue.ts";
import type { DrawingRequest, DrawingJob, DrawingAnswer } from "./jobs.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const job = (source: string): DrawingJob => ({ kind: "diagram", source, theme: "light" });
const picture = (id: number): DrawingAnswer => ({
  kind: "diagram",
  id,
  svg: `<svg id="${id}"/>`,
  width: 10,
  height: 10,
  title: "",
});

/** Frames that answer when the test tells them to. */
function createRig() {
  const frames: {
    requests: DrawingRequest[];
    isOpen: boolean;
    answer: (message: unknown) => void;
  }[] = [];
  const queue = createDrawingQueue((answer): DrawingFrame => {
    const frame = { requests: [] as DrawingRequest[], isOpen: true, answer };
    frames.push(frame);
    return {
      post: (request) => void frame.requests.push(request),
      close: () => void (frame.isOpen = false),
    };
  });
  return { frames, queue };
}

test("the frame opens with the first drawing and closes when idle", async () => {
  const { frames, queue } = createRig();
  expect(frames).toHaveLength(0);
  const drawing = queue.draw(job("a"));
  frames[0]?.answer(picture(1));
  expect(await drawing).toMatchObject({ svg: '<svg id="1"/>' });
  expect(frames[0]?.isOpen).toBe(true);
  vi.advanceTimersByTime(30_000);
  expect(frames[0]?.isOpen).toBe(false);
});

test("drawings are cached, and two identical jobs at once are drawn once", async () => {
  const { frames, queue } = createRig();
  const both = [queue.draw(job("a")), queue.draw(job("a"))];
  frames[0]?.answer(picture(1));
  await Promise.all(both);
  expect(frames[0]?.requests).toHaveLength(1);
  expect(queue.cached(job("a"))).toMatchObject({ kind: "diagram" });
  expect(queue.cached({ kind: "diagram", source: "a", theme: "dark" })).toBeUndefined();
});

test("a drawing that never ends is refused, and the next one gets a new frame", async () => {
  const { frames, queue } = createRig();
  const endless = queue.draw(job("endless"));
  const other = queue.draw(job("other"));
  vi.advanceTimersByTime(10_000);
  expect(await endless).toMatchObject({ kind: "refused" });
  expect(frames.map(({ isOpen }) => isOpen)).toEqual([false, true]);
  expect(frames[1]?.requests).toMatchObject([{ source: "other" }]);
  frames[1]?.answer(picture(2));
  expect(await other).toMatchObject({ kind: "diagram" });
});

test("an invalid answer, or one for another job, is ignored", async () => {
  const { frames, queue } = createRig();
  const drawing = queue.draw(job("a"));
  const wrong = [null, { kind: "diagram", id: 1 }, { ...picture(1), onload: "x" }, picture(7)];
  for (const answer of wrong) frames[0]?.answer(answer);
  frames[0]?.answer({ kind: "refused", id: 1, message: "no" });
  expect(await drawing).toMatchObject({ kind: "refused", message: "no" });
});

test("the cache stays bounded however much is drawn", async () => {
  const { frames, queue } = createRig();
  for (let id = 1; id <= 400; id += 1) {
    const drawing = queue.draw(job(String(id)));
    frames[0]?.answer(picture(id));
    await drawing;
  }
  expect(queue.cached(job("100"))).toBeUndefined();
  expect(queue.cached(job("101"))).toBeDefined();
});
