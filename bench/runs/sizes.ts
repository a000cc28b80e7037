import type { Pace } from "../harness/index.ts";

export interface Sizes {
  readonly pace: Pace;
  /** Live runs, from one to many. */
  readonly liveRuns: readonly number[];
  /** Before anything is counted: caches and compilers become warm. */
  readonly warmMs: number;
  readonly streamMs: number;
  readonly recovered: number;
  readonly longJournal: number;
  readonly watchers: number;
  readonly fanOutMs: number;
  readonly idleSessions: number;
  readonly heldRuns: number;
}

export const fullSizes: Sizes = {
  pace: { rounds: 40, budgetMs: 15_000 },
  liveRuns: [1, 200, 1_000],
  warmMs: 4_000,
  streamMs: 10_000,
  recovered: 100,
  longJournal: 100_000,
  watchers: 1_000,
  fanOutMs: 8_000,
  idleSessions: 2_000,
  heldRuns: 300,
};

export const quickSizes: Sizes = {
  pace: { rounds: 3, budgetMs: 500 },
  liveRuns: [1, 20],
  warmMs: 200,
  streamMs: 500,
  recovered: 5,
  longJournal: 2_000,
  watchers: 20,
  fanOutMs: 500,
  idleSessions: 50,
  heldRuns: 10,
};
