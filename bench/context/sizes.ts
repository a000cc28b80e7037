import type { Pace } from "../harness/index.ts";

export interface Sizes {
  readonly pace: Pace;
  /** Entries in a session, of which `live` are not covered by its summary. The first is what the others are compared with. */
  readonly entries: readonly number[];
  readonly live: number;
  /** Entries in the session that is compacted while somebody else writes. */
  readonly compacted: number;
  /** Sessions with something to remember. */
  readonly remembering: number;
  readonly dayTurns: number;
}

export const fullSizes: Sizes = {
  pace: { rounds: 40, budgetMs: 12_000 },
  entries: [1_000, 100, 10_000, 100_000],
  live: 50,
  compacted: 10_000,
  remembering: 300,
  dayTurns: 500,
};

export const quickSizes: Sizes = {
  pace: { rounds: 3, budgetMs: 500 },
  entries: [100, 400],
  live: 20,
  compacted: 200,
  remembering: 10,
  dayTurns: 40,
};
