import type { Pace } from "../harness/index.ts";

export interface Sizes {
  readonly pace: Pace;
  /** Sessions in a store, from few to many. */
  readonly sessions: readonly number[];
  /** Messages in a session to which is written. */
  readonly written: readonly number[];
  /** Messages in a session that is opened. */
  readonly opened: readonly number[];
  readonly searched: number;
  readonly writers: readonly number[];
  readonly processes: readonly number[];
  /** How long concurrent writers run in each of their rounds. */
  readonly stretchMs: number;
  readonly stretches: number;
  readonly streams: number;
  readonly streamMs: number;
}

export const fullSizes: Sizes = {
  pace: { rounds: 40, budgetMs: 20_000 },
  sessions: [1_000, 10_000, 100_000],
  written: [10, 1_000, 20_000],
  opened: [100, 10_000, 100_000],
  searched: 100_000,
  writers: [8, 32],
  processes: [2, 4],
  stretchMs: 500,
  stretches: 8,
  streams: 200,
  streamMs: 5_000,
};

export const quickSizes: Sizes = {
  pace: { rounds: 3, budgetMs: 500 },
  sessions: [10, 100],
  written: [10, 100],
  opened: [10, 100],
  searched: 300,
  writers: [8],
  processes: [2],
  stretchMs: 60,
  stretches: 2,
  streams: 20,
  streamMs: 300,
};
