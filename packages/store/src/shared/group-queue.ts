export type Pace = "now" | "tick";

export interface GroupQueueDeps<Write, Result> {
  /** Carries a group out: one result for each write, in order. Never rejects. */
  readonly run: (group: readonly Write[]) => Promise<readonly Result[]>;
  /** How long a write that may wait does so, at most. */
  readonly tickMs: number;
  readonly maxGroup: number;
}

interface QueuedWrite<Write, Result> {
  readonly write: Write;
  readonly resolve: (result: Result) => void;
}

/**
 * Group commit. Writes that wait at the same time share one transaction and one sync. One group is under way at
 * a time, so a group is as large as its predecessor took long: load makes groups, and an idle store adds no delay.
 */
export class GroupQueue<Write, Result> {
  readonly #options: GroupQueueDeps<Write, Result>;
  #waiting: QueuedWrite<Write, Result>[] = [];
  #urgent = false;
  #scheduled = false;
  #running: Promise<void> | undefined;
  #tick: NodeJS.Timeout | undefined;

  constructor(options: GroupQueueDeps<Write, Result>) {
    this.#options = options;
  }

  submit(write: Write, pace: Pace): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<Result>();
    this.#waiting.push({ write, resolve });
    if (pace === "now") this.#urgent = true;
    this.#schedule();
    return promise;
  }

  /** Resolves when nothing waits and nothing is under way. */
  async drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#running !== undefined) {
      this.#urgent = true;
      this.#schedule();
      await (this.#running ?? Promise.resolve());
    }
  }

  #schedule(): void {
    if (this.#running !== undefined || this.#scheduled || this.#waiting.length === 0) return;
    if (this.#urgent || this.#waiting.length >= this.#options.maxGroup) {
      this.#scheduled = true;
      // Whatever else is submitted in this turn of the event loop comes along.
      queueMicrotask(() => this.#start());
      return;
    }
    this.#tick ??= setTimeout(() => {
      this.#tick = undefined;
      this.#urgent = true;
      this.#schedule();
    }, this.#options.tickMs);
  }

  #start(): void {
    this.#scheduled = false;
    if (this.#running !== undefined || this.#waiting.length === 0) return;
    clearTimeout(this.#tick);
    this.#tick = undefined;
    const group = this.#waiting.splice(0, this.#options.maxGroup);
    this.#urgent = this.#waiting.length > 0;
    this.#running = this.#carryOut(group).finally(() => {
      this.#running = undefined;
      this.#schedule();
    });
  }

  async #carryOut(group: readonly QueuedWrite<Write, Result>[]): Promise<void> {
    const results = await this.#options.run(group.map((each) => each.write));
    group.forEach((each, index) => each.resolve(results[index]!));
  }
}
