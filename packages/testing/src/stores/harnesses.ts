import { fsckFindings, type StoreHarness } from "../conformance/harness.ts";

import { createReferenceStore } from "../reference-store/store.ts";

export interface HarnessFactory {
  readonly name: string;
  /** Each on its own data. */
  readonly open: () => Promise<StoreHarness>;
}

export const referenceHarness: HarnessFactory = {
  name: "memory",
  async open() {
    let now = Date.UTC(2026, 0, 1);
    const store = createReferenceStore({ clock: () => now });
    return {
      store,
      open: async () => store.open(),
      advanceClock: async (ms) => void (now += ms),
      fsck: () => fsckFindings(store),
      close: () => store.close(),
    };
  },
};
