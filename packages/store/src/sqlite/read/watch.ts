import { type FSWatcher, watch } from "node:fs";
import type { WatchPace } from "@holdfast/engine";
import type { SessionId } from "@holdfast/protocol";
import type { Connection } from "../connection.ts";

const pollIntervalMs: Record<WatchPace, number> = { live: 10, calm: 250 };

interface SessionWatcher {
  readonly pace: WatchPace;
  readonly wake: () => void;
}

/** The sessions watched in this process. The reader thread is told about changes. */
export class WatchList {
  readonly #watchers = new Map<string, Set<SessionWatcher>>();
  #announced = false;
  onChange: (sessions: readonly string[], pollMs: number | null) => void = () => {};

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

  /** Batches all changes of one event loop turn. */
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

/**
 * Lets the writer thread tell the watcher about foreign writes. SQLite shows a reader only that somebody has written;
 * a writer sees that it was somebody else, because it checks in each of its transactions, when nobody else can write.
 */
export class WriteCounter {
  readonly buffer: SharedArrayBuffer;
  readonly #counts: Int32Array;

  constructor(buffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#counts = new Int32Array(buffer);
  }

  /** Call before `countTransaction`: whoever sees the transaction then sees this too. */
  countForeignWrite(): void {
    Atomics.add(this.#counts, 1, 1);
  }

  countTransaction(): void {
    Atomics.add(this.#counts, 0, 1);
  }

  read(): WriteCounts {
    const transactions = Atomics.load(this.#counts, 0);
    return { transactions, foreignWrites: Atomics.load(this.#counts, 1) };
  }
}

export interface WriteCounts {
  /** Transactions of this process so far, including those that wrote nothing. */
  readonly transactions: number;
  /** How many of them found a foreign write since the previous one. */
  readonly foreignWrites: number;
}

/**
 * The file as a reader sees it. Read the version first: then the counts include every transaction that the version
 * does.
 */
export interface FileState extends WriteCounts {
  readonly version: number;
}

export type WriteOrigin = "none" | "foreign" | "unsure";

/**
 * Tells whether another process has written since the last check. A streaming process commits all the time, and
 * checking every watched session after each of its own commits would cost more than the commits.
 *
 * - `none`: nothing new.
 * - `foreign`: another process wrote, or may have while this one wrote nothing.
 * - `unsure`: this process wrote; its next transaction shows whether another one did too.
 */
export class ForeignWriteDetector {
  #seen: FileState | undefined;
  /** The newest state that is `unsure`, and the one that was at the last recheck. */
  #unsure: FileState | undefined;
  #unsureAtRecheck: FileState | undefined;

  check(now: FileState): WriteOrigin {
    const previous = this.#seen;
    this.#seen = now;
    if (now.foreignWrites !== previous?.foreignWrites) return this.#settle("foreign");
    if (now.version === previous.version) return this.#unsure === undefined ? "none" : "unsure";
    if (now.transactions === previous.transactions) return this.#settle("foreign");
    this.#unsure = now;
    return "unsure";
  }

  /** Call repeatedly while `unsure`. What is still unsure at the second recheck counts as foreign. */
  checkAgain(now: FileState): WriteOrigin {
    const origin = this.check(now);
    if (origin !== "unsure" || this.#unsure === undefined) return origin;
    // A later transaction of ours found no foreign write, which settles it.
    if (now.transactions !== this.#unsure.transactions) return this.#settle("none");
    if (this.#unsure === this.#unsureAtRecheck) return this.#settle("foreign");
    this.#unsureAtRecheck = this.#unsure;
    return "unsure";
  }

  #settle(origin: WriteOrigin): WriteOrigin {
    this.#unsure = undefined;
    return origin;
  }
}

export interface Wake {
  readonly kind: "wake";
  readonly sessions: readonly string[];
}

const headBySession = `
  SELECT coalesce(l.head, s.head) AS head FROM sessions s LEFT JOIN live l ON l.session_key = s.key WHERE s.id = ?`;

/** An unsure state is settled after twice this time, or sooner at a shorter poll interval. */
const maxRecheckMs = 25;

/**
 * Notices commits of other processes. `data_version` is authoritative and polled while anybody watches; a change of
 * the write-ahead log's file only makes the next check sooner. No watchers cost nothing, and neither do commits of
 * this process, which it knows about anyway.
 */
export class HeadWatcher {
  readonly #connection: Connection;
  readonly #file: string;
  readonly #notify: (wake: Wake) => void;
  #heads = new Map<string, number>();
  readonly #writeCounter: WriteCounter;
  readonly #detector = new ForeignWriteDetector();
  #timer: NodeJS.Timeout | undefined;
  #recheckTimer: NodeJS.Timeout | undefined;
  #pollMs = maxRecheckMs;
  #fileWatcher: FSWatcher | undefined;

  constructor(
    connection: Connection,
    file: string,
    writeCounter: WriteCounter,
    notify: (wake: Wake) => void,
  ) {
    this.#connection = connection;
    this.#file = file;
    this.#writeCounter = writeCounter;
    this.#notify = notify;
  }

  watch(sessions: readonly string[], pollMs: number | null): void {
    const previous = this.#heads;
    this.#heads = new Map(sessions.map((id) => [id, previous.get(id) ?? this.#readHead(id)]));
    clearInterval(this.#timer);
    clearTimeout(this.#recheckTimer);
    this.#timer = this.#recheckTimer = undefined;
    if (pollMs === null) {
      this.#fileWatcher?.close();
      this.#fileWatcher = undefined;
      return;
    }
    this.#pollMs = pollMs;
    this.#timer = setInterval(() => this.#check(), pollMs);
    this.#fileWatcher ??= this.#watchFile();
    // A follower that read before its head was noted here may have missed a commit in between.
    const added = sessions.filter((id) => !previous.has(id));
    if (added.length > 0) this.#notify({ kind: "wake", sessions: added });
  }

  close(): void {
    this.watch([], null);
  }

  #watchFile(): FSWatcher | undefined {
    try {
      const watcher = watch(`${this.#file}-wal`, { persistent: false }, () => this.#onFileChange());
      // The last writer may delete the file; polling notices changes anyway.
      watcher.on("error", () => watcher.close());
      return watcher;
    } catch {
      return undefined;
    }
  }

  /** Our own writes raise an event per page; a recheck is already scheduled then. */
  #onFileChange(): void {
    if (this.#recheckTimer === undefined) this.#check();
  }

  #check(): void {
    this.#react(this.#detector.check(this.#readState()));
  }

  #recheck(): void {
    this.#recheckTimer = undefined;
    this.#react(this.#detector.checkAgain(this.#readState()));
  }

  #react(origin: WriteOrigin): void {
    if (origin === "foreign") this.#notifyMoved();
    else if (origin === "unsure")
      this.#recheckTimer ??= setTimeout(
        () => this.#recheck(),
        Math.min(maxRecheckMs, this.#pollMs),
      ).unref();
  }

  #readState(): FileState {
    const version = Number(this.#connection.sql("PRAGMA data_version").get()?.["data_version"]);
    return { version, ...this.#writeCounter.read() };
  }

  #notifyMoved(): void {
    const moved: string[] = [];
    for (const [id, previous] of this.#heads) {
      const head = this.#readHead(id);
      if (head === previous) continue;
      this.#heads.set(id, head);
      moved.push(id);
    }
    if (moved.length > 0) this.#notify({ kind: "wake", sessions: moved });
  }

  #readHead(id: string): number {
    return Number(this.#connection.sql(headBySession).get(id)?.["head"] ?? 0);
  }
}
