import type { WorkItem } from "@holdfast/engine";
import { ownerId, sessionId } from "@holdfast/protocol";
import { z } from "zod";
import { fits, type SignalConnection, Unsent } from "./signals.ts";

/** Apart from the channel of commits, whose payload older versions read otherwise. */
const channel = "holdfast_hints";

const hint = z.union([
  z.object({ owner: ownerId, session: sessionId }),
  z.object({ register: z.string() }),
]);
type Hint = z.infer<typeof hint>;

const signal = z.object({
  node: z.string(),
  /** Absent: there were too many for one signal. */
  hints: z.array(hint).optional(),
});

interface RegisterWatcher {
  readonly words: ReadonlySet<string>;
  readonly wake: () => void;
}

/** Tells other processes what they would otherwise find by polling: queued work and changed values of the register. */
export class Hints {
  readonly #signals: SignalConnection;
  readonly #work = new Set<(item: WorkItem | null) => void>();
  readonly #register = new Set<RegisterWatcher>();
  readonly #unsent: Unsent<string>;

  constructor(signals: SignalConnection) {
    this.#signals = signals;
    const { node } = signals;
    this.#unsent = new Unsent(signals, channel, (items) => {
      const payload = JSON.stringify({
        node,
        hints: items.map((item): unknown => JSON.parse(item)),
      });
      return fits(payload) ? payload : JSON.stringify({ node });
    });
    signals.subscribe(channel, {
      isNeeded: () => this.#work.size > 0 || this.#register.size > 0 || this.#unsent.size > 0,
      onConnected: () => {
        this.#wakeAll();
        this.#unsent.send();
      },
      onSignal: (payload) => this.#onSignal(payload),
    });
  }

  work({ owner, session }: WorkItem): void {
    this.#add({ owner, session });
  }

  registerChanged(key: string): void {
    this.#add({ register: wordOf(key) });
  }

  watchWork(wake: (item: WorkItem | null) => void): () => void {
    // The same function may watch twice.
    const watcher = (item: WorkItem | null): void => wake(item);
    this.#work.add(watcher);
    this.#signals.connect();
    return () => void this.#work.delete(watcher);
  }

  watchRegister(words: readonly string[], wake: () => void): () => void {
    const watcher = { words: new Set(words), wake };
    this.#register.add(watcher);
    this.#signals.connect();
    return () => void this.#register.delete(watcher);
  }

  /** Resolves when what was added has been signalled, if it could be. */
  async close(): Promise<void> {
    this.#work.clear();
    this.#register.clear();
    await this.#unsent.settled();
  }

  #add(item: Hint): void {
    this.#unsent.add([JSON.stringify(item)]);
  }

  #wakeAll(): void {
    for (const wake of this.#work) wake(null);
    for (const { wake } of this.#register) wake();
  }

  #onSignal(payload: string): void {
    const parsed = signal.safeParse(parseOrNull(payload)).data;
    if (parsed?.node === this.#signals.node) return;
    if (parsed?.hints === undefined) return this.#wakeAll();
    for (const item of parsed.hints) {
      if ("session" in item) for (const wake of this.#work) wake(item);
      else for (const { words, wake } of this.#register) if (words.has(item.register)) wake();
    }
  }
}

function wordOf(key: string): string {
  const [word = ""] = key.split("/", 1);
  return word;
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
