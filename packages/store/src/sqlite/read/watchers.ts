import { type FSWatcher, watch } from "node:fs";

import type { Connection } from "../connection.ts";
import type { WriteCounter } from "../threads/write-tally.ts";
import { type FileState, type WriteOrigin, ForeignWriteDetector } from "./whose-writes.ts";

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
