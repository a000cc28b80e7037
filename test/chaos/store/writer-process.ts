import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import type { Commit, Store } from "@holdfast/engine";

import type { Ledger } from "./ledger.ts";
import type { WriterTask, WriterMessage } from "./protocol.ts";

const script = fileURLToPath(new URL("./writer.ts", import.meta.url));

export interface WriterProcessDeps {
  readonly task: Omit<WriterTask, "task" | "seed" | "unanswered">;
  readonly ledger: Ledger;
  /** The compile cache, so that a successor starts fast. */
  readonly compiled: Readonly<Record<string, string>>;
}

/** A slot for one writer after another: each gets its predecessor's unanswered commits. */
export class WriterProcess {
  readonly #options: WriterProcessDeps;
  readonly #unanswered = new Map<string, Commit>();
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #ready = Promise.withResolvers<void>();

  constructor(options: WriterProcessDeps) {
    this.#options = options;
  }

  /** Resolves when it works, or when it is gone. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  start(seed: number): void {
    this.#spawn({ task: "write", seed, unanswered: [...this.#unanswered.values()] });
  }

  /** A killed process doesn't write its compile cache, so another one does. */
  async warmUp(): Promise<void> {
    this.#spawn({ task: "warm up", seed: 1, unanswered: [] });
    await this.#ended;
  }

  #spawn(given: Pick<WriterTask, "task" | "seed" | "unanswered">): void {
    const { task, compiled } = this.#options;
    const env = { ...process.env, ...compiled };
    const child = spawn(process.execPath, [script], { env, stdio: ["pipe", "pipe", "inherit"] });
    this.#child = child;
    this.#ready = Promise.withResolvers<void>();
    const { resolve } = this.#ready;
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (said + text).split("\n");
      // A process killed in the middle of a line hasn't said it.
      said = lines.pop() ?? "";
      for (const line of lines) this.#onLine(line);
    });
    this.#ended = once(child, "close").finally(resolve);
    const told: WriterTask = { ...task, ...given };
    // A writer may be killed before it has read them.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(told));
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** `kill -9`; resolves when it is gone and all of its output was read. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#ended;
    const { exitCode = null, signalCode = null } = this.#child ?? {};
    if (exitCode !== null || (signalCode !== null && signalCode !== "SIGKILL"))
      throw new Error(`A writer ended by itself (${exitCode ?? signalCode}).`);
  }

  async resendUnanswered(store: Store): Promise<void> {
    for (const commit of this.#unanswered.values()) {
      const { session, events } = commit;
      const ids = events.map(({ id }) => id);
      const result = await store.commit(commit);
      if (result.status === "failed") throw new Error(`${result.code}: ${result.message}`);
      if (result.status === "refused")
        this.#options.ledger.note({ word: "refused", code: result.code, ids });
      else {
        const { first, repeated = false } = result;
        this.#options.ledger.note({ word: "acknowledged", session, ids, first, repeated });
      }
    }
    this.#unanswered.clear();
  }

  #onLine(line: string): void {
    const message = JSON.parse(line) as WriterMessage;
    if (message.word === "ready") return this.#ready.resolve();
    if (message.word === "sending") {
      const { commit } = message;
      this.#unanswered.set(commit.events[0]!.id, commit);
      return;
    }
    if ("ids" in message) this.#unanswered.delete(message.ids[0]!);
    this.#options.ledger.note(message);
  }
}
