import type { Page } from "playwright-core";

import { Samples } from "../harness/samples.ts";

declare global {
  interface Window {
    /** Milliseconds of each key. */
    benchKeys: { readonly work: number[]; readonly shown: number[] };
    /** Milliseconds from each frame to the next. */
    benchFrames: number[];
  }
}

export interface KeyFigures {
  /** Waiting behind other work, handling, layout and paint: all but the wait for the screen's next tick. */
  readonly work: Samples;
  /** From the key to the end of the frame that shows it. */
  readonly shown: Samples;
}

/** How long the page takes to answer each key that is pressed meanwhile. */
export async function timeKeys(page: Page, during: () => Promise<void>): Promise<KeyFigures> {
  await page.evaluate(() => {
    window.benchKeys = { work: [], shown: [] };
    let pressedAt = 0;
    // The browser's own time of the key, from which waiting behind other work counts too.
    addEventListener("keydown", (event) => (pressedAt = event.timeStamp), { capture: true });
    addEventListener("input", () => {
      const from = pressedAt;
      let handledMs = 0;
      // Behind React's own microtask, which renders the text.
      queueMicrotask(() => (handledMs = performance.now() - from));
      requestAnimationFrame(() => {
        const frameAt = performance.now();
        // A message is delivered when the frame is laid out and painted.
        const { port1, port2 } = new MessageChannel();
        port1.addEventListener("message", () => {
          const end = performance.now();
          window.benchKeys.work.push(handledMs + (end - frameAt));
          window.benchKeys.shown.push(end - from);
        });
        port1.start();
        port2.postMessage(undefined);
      });
    });
  });
  await during();
  const { work, shown } = await page.evaluate(() => window.benchKeys);
  return { work: samplesOf(work), shown: samplesOf(shown) };
}

/** How far apart the frames are meanwhile. */
export async function timeFrames(page: Page, during: () => Promise<void>): Promise<Samples> {
  await page.evaluate(() => {
    const frames: number[] = [];
    window.benchFrames = frames;
    let before = performance.now();
    const next = (now: number): void => {
      if (window.benchFrames !== frames) return;
      frames.push(now - before);
      before = now;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  await during();
  return samplesOf(
    await page.evaluate(() => {
      const frames = window.benchFrames;
      window.benchFrames = [];
      return frames.slice(1);
    }),
  );
}

function samplesOf(values: readonly number[]): Samples {
  const samples = new Samples();
  samples.addAll(values);
  return samples;
}
