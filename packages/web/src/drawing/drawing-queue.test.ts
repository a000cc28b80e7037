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

/** Frames that answer when the test says so. */
function openRig() {
  const frames: { asked: DrawingRequest[]; isOpen: boolean; answer: (what: unknown) => void }[] =
    [];
  const drawings = createDrawingQueue((answer): DrawingFrame => {
    const own = { asked: [] as DrawingRequest[], isOpen: true, answer };
    frames.push(own);
    return {
      post: (asked) => void own.asked.push(asked),
      close: () => void (own.isOpen = false),
    };
  });
  return { frames, drawings };
}

test("no frame is opened before something is drawn, and it goes when nothing has been drawn for a while", async () => {
  const { frames, drawings } = openRig();
  expect(frames).toHaveLength(0);
  const drawing = drawings.draw(job("a"));
  frames[0]?.answer(picture(1));
  expect(await drawing).toMatchObject({ svg: '<svg id="1"/>' });
  expect(frames[0]?.isOpen).toBe(true);
  vi.advanceTimersByTime(30_000);
  expect(frames[0]?.isOpen).toBe(false);
});

test("what was drawn is known at once, and the same twice at a time is drawn once", async () => {
  const { frames, drawings } = openRig();
  const both = [drawings.draw(job("a")), drawings.draw(job("a"))];
  frames[0]?.answer(picture(1));
  await Promise.all(both);
  expect(frames[0]?.asked).toHaveLength(1);
  expect(drawings.cached(job("a"))).toMatchObject({ kind: "diagram" });
  expect(drawings.cached({ kind: "diagram", source: "a", theme: "dark" })).toBeUndefined();
});

test("one that never ends costs its frame and itself; the next is drawn by another", async () => {
  const { frames, drawings } = openRig();
  const endless = drawings.draw(job("endless"));
  const other = drawings.draw(job("other"));
  vi.advanceTimersByTime(10_000);
  expect(await endless).toMatchObject({ kind: "refused" });
  expect(frames.map(({ isOpen }) => isOpen)).toEqual([false, true]);
  expect(frames[1]?.asked).toMatchObject([{ source: "other" }]);
  frames[1]?.answer(picture(2));
  expect(await other).toMatchObject({ kind: "diagram" });
});

test("an answer that is none, or is for something else, is not taken for one", async () => {
  const { frames, drawings } = openRig();
  const drawing = drawings.draw(job("a"));
  const wrong = [null, { kind: "diagram", id: 1 }, { ...picture(1), onload: "x" }, picture(7)];
  for (const answer of wrong) frames[0]?.answer(answer);
  frames[0]?.answer({ kind: "refused", id: 1, message: "no" });
  expect(await drawing).toMatchObject({ kind: "refused", message: "no" });
});

test("however much is drawn, what is kept of it stays bounded", async () => {
  const { frames, drawings } = openRig();
  for (let each = 1; each <= 400; each += 1) {
    const drawing = drawings.draw(job(String(each)));
    frames[0]?.answer(picture(each));
    await drawing;
  }
  expect(drawings.cached(job("100"))).toBeUndefined();
  expect(drawings.cached(job("101"))).toBeDefined();
});
