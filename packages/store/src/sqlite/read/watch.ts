import { type FSWatcher, watch } from "node:fs";
import type { WatchPace } from "@holdfast/engine";
import type { SessionId } from "@holdfast/protocol";
import type { WriteCounts, WriteCounter } from "../threads/shared-memory.ts";
import type { Connection } from "../connection.ts";

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

/** The file as a reader finds it: its version first, so that the tally knows of every transaction that is in it. */
export interface FileState extends WriteCounts {
  readonly version: number;
}

export type WriteOrigin = "nobody" | "others" | "perhaps";

/**
 * Tells whether somebody else has written since the last look. A process that streams writes all the time, and to look
 * through all that is watched with each of its own commits would cost more than the commits.
 *
 * - `nobody`: there is nothing new.
 * - `others`: it was somebody else, or may have been while this process wrote nothing.
 * - `perhaps`: this process has written, and whether others did so after it shows with its next transaction.
 */
export class ForeignWriteDetector {
  #seen: FileState | undefined;
  /** The newest look of which it is not known yet, and the one that was it when this was asked last. */
  #doubt: FileState | undefined;
  #asked: FileState | undefined;

  check(now: FileState): WriteOrigin {
    const before = this.#seen;
    this.#seen = now;
    if (now.foreignWrites !== before?.foreignWrites) return this.#settle("others");
    if (now.version === before.version) return this.#doubt === undefined ? "nobody" : "perhaps";
    if (now.transactions === before.transactions) return this.#settle("others");
    this.#doubt = now;
    return "perhaps";
  }

  /** To be asked again and again while it is `perhaps`. What stays in doubt from one time to the next is taken for others'. */
  checkAgain(now: FileState): WriteOrigin {
    const found = this.check(now);
    if (found !== "perhaps" || this.#doubt === undefined) return found;
    // A transaction that has begun since then, and found nobody else's, has answered it.
    if (now.transactions !== this.#doubt.transactions) return this.#settle("nobody");
    if (this.#doubt === this.#asked) return this.#settle("others");
    this.#asked = this.#doubt;
    return "perhaps";
  }

  #settle(answer: WriteOrigin): WriteOrigin {
    this.#doubt = undefined;
    return answer;
  }
}

export interface Wake {
  readonly kind: "wake";
  readonly sessions: readonly string[];
}

const headBySession = `
  SELECT coalesce(l.head, s.head) AS head FROM sessions s LEFT JOIN live l ON l.session_key = s.key WHERE s.id = ?`;

/** A doubt whether others have written is over after twice this time, or sooner where they are looked for more often. */
const maxRecheckMs = 25;

/**
 * Notices commits of other processes. `data_version` is the truth, asked at an interval while somebody watches; a
 * change of the write-ahead log's file is a hint that makes it sooner. Nobody watching costs nothing, and neither do the
 * commits of this process, of which it knows by itself.
 */
export class HeadWatcher {
  readonly #connection: Connection;
  readonly #file: string;
  readonly #say: (wake: Wake) => void;
  #heads = new Map<string, number>();
  readonly #tally: WriteCounter;
  readonly #whose = new ForeignWriteDetector();
  #timer: NodeJS.Timeout | undefined;
  #again: NodeJS.Timeout | undefined;
  #everyMs = maxRecheckMs;
  #hint: FSWatcher | undefined;

  constructor(
    connection: Connection,
    file: string,
    tally: WriteCounter,
    say: (wake: Wake) => void,
  ) {
    this.#connection = connection;
    this.#file = file;
    this.#tally = tally;
    this.#say = say;
  }

  watch(sessions: readonly string[], everyMs: number | null): void {
    const known = this.#heads;
    this.#heads = new Map(sessions.map((id) => [id, known.get(id) ?? this.#head(id)]));
    clearInterval(this.#timer);
    clearTimeout(this.#again);
    this.#timer = this.#again = undefined;
    if (everyMs === null) {
      this.#hint?.close();
      this.#hint = undefined;
      return;
    }
    this.#everyMs = everyMs;
    this.#timer = setInterval(() => this.#look(), everyMs);
    this.#hint ??= this.#watchFile();
  }

  close(): void {
    this.watch([], null);
  }

  #watchFile(): FSWatcher | undefined {
    try {
      const watcher = watch(`${this.#file}-wal`, { persistent: false }, () => this.#heed());
      // The file may go away with the last writer; the interval is the truth anyway.
      watcher.on("error", () => watcher.close());
      return watcher;
    } catch {
      return undefined;
    }
  }

  /** While we write ourselves there is a hint with every page; then it is looked again soon anyway. */
  #heed(): void {
    if (this.#again === undefined) this.#look();
  }

  #look(): void {
    this.#act(this.#whose.check(this.#now()));
  }

  #lookAgain(): void {
    this.#again = undefined;
    this.#act(this.#whose.checkAgain(this.#now()));
  }

  #act(whose: WriteOrigin): void {
    if (whose === "others") this.#tellWhatMoved();
    else if (whose === "perhaps")
      this.#again ??= setTimeout(
        () => this.#lookAgain(),
        Math.min(maxRecheckMs, this.#everyMs),
      ).unref();
  }

  #now(): FileState {
    const version = Number(this.#connection.sql("PRAGMA data_version").get()?.["data_version"]);
    return { version, ...this.#tally.read() };
  }

  #tellWhatMoved(): void {
    const moved: string[] = [];
    for (const [id, before] of this.#heads) {
      const head = this.#head(id);
      if (head === before) continue;
      this.#heads.set(id, head);
      moved.push(id);
    }
    if (moved.length > 0) this.#say({ kind: "wake", sessions: moved });
  }

  #head(id: string): number {
    return Number(this.#connection.sql(headBySession).get(id)?.["head"] ?? 0);
  }
}
