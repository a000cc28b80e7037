import { StatementSync } from "node:sqlite";

export interface ReadCounter {
  /** What this thread has asked SQLite since the last call, and how many rows came back. */
  take(): { readonly statements: readonly string[]; readonly rows: number };
  stop(): void;
}

type ReadMethod<Found> = (this: StatementSync, ...values: unknown[]) => Found;

interface ReadMethods {
  all: ReadMethod<unknown[]>;
  get: ReadMethod<unknown>;
  iterate: ReadMethod<Iterable<unknown>>;
}

/** Watches the reads that a store does on its caller's thread, at the driver: nothing can be read past it. */
export function countReads(): ReadCounter {
  const driver = StatementSync.prototype as unknown as ReadMethods;
  const { all, get, iterate } = driver;
  let statements: string[] = [];
  let rows = 0;
  const watched: ReadMethods = {
    all(...values) {
      statements.push(this.sourceSQL);
      const found = all.apply(this, values);
      rows += found.length;
      return found;
    },
    get(...values) {
      statements.push(this.sourceSQL);
      const found = get.apply(this, values);
      if (found !== undefined) rows += 1;
      return found;
    },
    *iterate(...values) {
      statements.push(this.sourceSQL);
      for (const found of iterate.apply(this, values)) {
        rows += 1;
        yield found;
      }
    },
  };
  Object.assign(driver, watched);
  return {
    take() {
      const taken = { statements, rows };
      statements = [];
      rows = 0;
      return taken;
    },
    stop: () => void Object.assign(driver, { all, get, iterate }),
  };
}
