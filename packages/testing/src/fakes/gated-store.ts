import { type Store, StoreFailure } from "@holdfast/engine";
import { nextTurn } from "./manual-clock.ts";

export interface GatedStore extends Store {
  readonly gate: { reads: number; watches: number; failing: boolean };
  /** From now on pages are read, but not returned until the returned function is called. */
  hold(): () => Promise<void>;
}

/** A store whose event reads are counted and can be held back or made to fail, as can its watches. */
export function gatedStore(store: Store): GatedStore {
  const gate = { reads: 0, watches: 0, failing: false };
  let held: Promise<void> | null = null;
  return {
    ...store,
    gate,
    reads: {
      ...store.reads,
      async events(owner, id, query) {
        gate.reads += 1;
        if (gate.failing) throw new StoreFailure("store_unavailable", "unplugged");
        const page = await store.reads.events(owner, id, query);
        await held;
        return page;
      },
    },
    watch(session, pace, wake) {
      gate.watches += 1;
      const unwatch = store.watch(session, pace, wake);
      return () => {
        gate.watches -= 1;
        unwatch();
      };
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = null;
        resolve();
        return nextTurn();
      };
    },
  };
}
