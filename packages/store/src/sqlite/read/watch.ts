import type { WatchPace } from "@holdfast/engine";
import type { SessionId } from "@holdfast/protocol";

const pollIntervalMs: Record<WatchPace, number> = { live: 10, calm: 250 };

interface SessionWatcher {
  readonly pace: WatchPace;
  readonly wake: () => void;
}

/** Who watches what in this process. The reader thread is told when that changes. */
export class WatchList {
  readonly #watchers = new Map<string, Set<SessionWatcher>>();
  #announced = false;
  onChange: (sessions: readonly string[], everyMs: number | null) => void = () => {};

  add(session: SessionId, pace: WatchPace, wake: () => void): () => void {
    const watcher: SessionWatcher = { pace, wake };
    const watchers = this.#watchers.get(session) ?? new Set();
    this.#watchers.set(session, watchers.add(watcher));
    this.announce();
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(session) === watchers)
        this.#watchers.delete(session);
      this.announce();
    };
  }

  wake(sessions: readonly string[]): void {
    for (const session of sessions) {
      for (const { wake } of this.#watchers.get(session) ?? []) wake();
    }
  }

  clear(): void {
    this.#watchers.clear();
    this.announce();
  }

  /** Many changes in one turn of the event loop are told once. */
  announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    queueMicrotask(() => {
      this.#announced = false;
      const paces = new Set(
        [...this.#watchers.values()].flatMap((set) => [...set].map(({ pace }) => pace)),
      );
      const interval = paces.has("live")
        ? pollIntervalMs.live
        : paces.has("calm")
          ? pollIntervalMs.calm
          : null;
      this.onChange([...this.#watchers.keys()], interval);
    });
  }
}
