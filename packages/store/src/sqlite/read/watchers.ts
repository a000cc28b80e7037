import { type FSWatcher, watch } from "node:fs";

import type { Connection } from "../connection.ts";

export interface Wake {
  readonly kind: "wake";
  readonly sessions: readonly string[];
}

const headOf = `
  SELECT coalesce(l.head, s.head) AS head FROM sessions s LEFT JOIN live l ON l.session_key = s.key WHERE s.id = ?`;

/**
 * Notices commits of other processes. `data_version` is the truth, asked at an interval while somebody watches; a
 * change of the write-ahead log's file is a hint that makes it sooner. Nobody watching costs nothing.
 */
export class Watchers {
  readonly #connection: Connection;
  readonly #file: string;
  readonly #say: (wake: Wake) => void;
  #heads = new Map<string, number>();
  #dataVersion = -1;
  #timer: NodeJS.Timeout | undefined;
  #hint: FSWatcher | undefined;

  constructor(connection: Connection, file: string, say: (wake: Wake) => void) {
    this.#connection = connection;
    this.#file = file;
    this.#say = say;
  }

  watch(sessions: readonly string[], everyMs: number | null): void {
    const known = this.#heads;
    this.#heads = new Map(sessions.map((id) => [id, known.get(id) ?? this.#head(id)]));
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (everyMs === null) {
      this.#hint?.close();
      this.#hint = undefined;
      return;
    }
    this.#timer = setInterval(() => this.#look(), everyMs);
    this.#hint ??= this.#watchFile();
  }

  close(): void {
    this.watch([], null);
  }

  #watchFile(): FSWatcher | undefined {
    try {
      const watcher = watch(`${this.#file}-wal`, { persistent: false }, () => this.#look());
      // The file may go away with the last writer; the interval is the truth anyway.
      watcher.on("error", () => watcher.close());
      return watcher;
    } catch {
      return undefined;
    }
  }

  #look(): void {
    const version = Number(this.#connection.sql("PRAGMA data_version").get()?.["data_version"]);
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
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
    return Number(this.#connection.sql(headOf).get(id)?.["head"] ?? 0);
  }
}
