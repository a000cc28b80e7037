import type { InspectableDatabase, TestDatabaseFactory } from "../contracts/test-database.ts";
import { createReferenceStore } from "../reference-store/store.ts";
import { identity, spills } from "./host-parts.ts";

/** The store in memory. Other processes cannot share it, and only its own audit can inspect it. */
export const referenceDatabase: TestDatabaseFactory<InspectableDatabase> = {
  name: "memory",
  identity,
  spills,
  async create() {
    // All its handles share a clock.
    let clockOffset = () => 0;
    const store = createReferenceStore({ clock: () => Date.now() + clockOffset() });
    return {
      async open(options = {}) {
        clockOffset = options.clockOffset ?? clockOffset;
        return store.open();
      },
      async storedEventIds() {
        const stored = new Set<string>();
        for await (const { id } of store.audit.sessions())
          for await (const { place, event } of store.audit.events(id))
            if (place === "log" && event !== null) stored.add(event.id);
        return stored;
      },
      drop: () => store.close(),
    };
  },
};
