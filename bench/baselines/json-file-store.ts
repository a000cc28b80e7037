import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

import type { Baseline, SavedMessage } from "./baseline.ts";

interface IndexEntry {
  readonly id: string;
  readonly title: string;
  readonly updatedAt: number;
  readonly messageCount: number;
}

/**
 * A session is one JSON file, rewritten on each save: a new file, synced, renamed over the old one. The list is an
 * index file that is rewritten in the same way.
 */
export class JsonFileStore implements Baseline {
  readonly name = "JSON files";
  readonly #folder: string;
  readonly #index = new Map<string, IndexEntry>();

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** As if this many sessions had been saved before. */
  pretendSessions(count: number): void {
    for (let number = 0; number < count; number += 1) {
      const id = `session-${number}`;
      this.#index.set(id, { id, title: `Talk ${number}`, updatedAt: number, messageCount: 1 });
    }
    this.#writeIndex();
  }

  save(session: string, messages: readonly SavedMessage[]): void {
    const title = messages[0]?.content.slice(0, 60) ?? "";
    const updatedAt = Date.now();
    this.#write(`${session}.json`, { id: session, title, updatedAt, messages });
    this.#index.set(session, { id: session, title, updatedAt, messageCount: messages.length });
    this.#writeIndex();
  }

  load(session: string): unknown {
    return this.#read(`${session}.json`);
  }

  list(limit: number): readonly unknown[] {
    const entries = this.#read("index.json");
    if (!Array.isArray(entries)) throw new Error("The index is damaged.");
    return entries.toSorted((a, b) => updatedAtOf(b) - updatedAtOf(a)).slice(0, limit);
  }

  close(): void {}

  #writeIndex(): void {
    this.#write("index.json", [...this.#index.values()]);
  }

  #write(name: string, value: unknown): void {
    const path = join(this.#folder, name);
    const file = openSync(`${path}.new`, "w");
    writeSync(file, JSON.stringify(value));
    fsyncSync(file);
    closeSync(file);
    renameSync(`${path}.new`, path);
    const folder = openSync(this.#folder, "r");
    fsyncSync(folder);
    closeSync(folder);
  }

  #read(name: string): unknown {
    return JSON.parse(readFileSync(join(this.#folder, name), "utf8"));
  }
}

function updatedAtOf(entry: unknown): number {
  return typeof entry === "object" && entry !== null && "updatedAt" in entry
    ? Number(entry.updatedAt)
    : 0;
}
