import type { StoreHarness } from "@holdfast/engine/testing";

import { createMemoryStore } from "../memory/index.ts";

export interface HarnessFactory {
  readonly name: string;
  /** On data of its own. */
  readonly open: () => Promise<StoreHarness>;
}

export const memoryHarness: HarnessFactory = {
  name: "memory",
  async open() {
    let now = Date.UTC(2026, 0, 1);
    const store = createMemoryStore({ clock: () => now });
    return {
      store,
      open: async () => store.open(),
      advanceClock: async (ms) => void (now += ms),
      close: () => store.close(),
    };
  },
};
