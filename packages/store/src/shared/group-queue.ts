export type Pace = "now" | "tick";

export interface GroupQueueDeps<Write, Result> {
  /** Runs a group: one result per write, in order. Never rejects. */
  readonly run: (group: readonly Write[]) => Promise<readonly Result[]>;
  /** How long a write with pace `tick` waits at most. */
  readonly tickMs: number;
  readonly maxGroup: number;
}

interface QueuedWrite<Write, Result> {
  readonly write: Write;
  readonly resolve: (result: Result) => void;
}

/**
 * Group commit: writes that are queued at the same time share one transaction and one sync. Only one group runs at a
 * time, so the next one grows while it does: load makes groups, and an idle store adds no delay.
 */
export class GroupQueue<Write, Result> {
  readonly #options: GroupQueueDeps<Write, Result>;
  #queued: QueuedWrite<Write, Result>[] = [];
  #urgent = false;
  #scheduled = false;
  #running: Promise<void> | undefined;
  #tick: NodeJS.Timeout | undefined;

  constructor(options: GroupQueueDeps<Write, Result>) {
    this.#options = options;
  }

  submit(write: Write, pace: Pace): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<Result>();
    this.#queued.push({ write, resolve });
    if (pace === "now") this.#urgent = true;
    this.#schedule();
    return promise;
  }

  /** Resolves when nothing is queued or running. */
  async drain(): Promise<void> {
    while (this.#queued.length > 0 || this.#running !== undefined) {
      this.#urgent = true;
      this.#schedule();
      await (this.#running ?? Promise.resolve());
    }
  }

  #schedule(): void {
    if (this.#running !== undefined || this.#scheduled || this.#queued.length === 0) return;
    if (this.#urgent || this.#queued.length >= this.#options.maxGroup) {
      this.#scheduled = true;
      // Everything else submitted in this event loop turn joins the group.
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
    if (this.#running !== undefined || this.#queued.length === 0) return;
    clearTimeout(this.#tick);
    this.#tick = undefined;
    const group = this.#queued.splice(0, this.#options.maxGroup);
    this.#urgent = this.#queued.length > 0;
    this.#running = this.#run(group).finally(() => {
      this.#running = undefined;
      this.#schedule();
    });
  }

  async #run(group: readonly QueuedWrite<Write, Result>[]): Promise<void> {
    const results = await this.#options.run(group.map((queued) => queued.write));
    group.forEach((queued, index) => queued.resolve(results[index]!));
  }
}
