export interface Sizes {
  readonly sessions: number;
  readonly starts: number;
  /** How long a host that was just started is left alone before it is weighed. */
  readonly restMs: number;
  readonly clients: number;
  readonly requestMs: number;
  readonly idleStreams: number;
  readonly liveRuns: number;
  readonly streamMs: number;
}

export const fullSizes: Sizes = {
  sessions: 100_000,
  starts: 7,
  restMs: 3_000,
  clients: 16,
  requestMs: 5_000,
  idleStreams: 5_000,
  liveRuns: 200,
  streamMs: 10_000,
};

export const quickSizes: Sizes = {
  sessions: 50,
  starts: 2,
  restMs: 50,
  clients: 4,
  requestMs: 200,
  idleStreams: 20,
  liveRuns: 3,
  streamMs: 500,
};
