import { join } from "node:path";
import { pathToFileURL } from "node:url";

import type { Baseline, SavedMessage } from "./baseline.ts";

/** The part of LangGraph's checkpointer that is used; it isn't a dependency, so its types aren't available. */
interface Saver {
  readonly db: { pragma(text: string): unknown; close(): void };
  put(config: object, checkpoint: object, metadata: object): Promise<unknown>;
  getTuple(config: object): Promise<unknown>;
}
interface SaverModule {
  readonly SqliteSaver: { fromConnString(file: string): Saver };
}

/**
 * LangGraph's SQLite checkpointer. A checkpoint contains the whole state, so a save writes all messages again. By
 * default it doesn't sync its commits; here it does, because the others do.
 */
export class LangGraphStore implements Baseline {
  readonly name = "LangGraph";
  readonly #saver: Saver;
  #step = 0;

  constructor({ SqliteSaver }: SaverModule, file: string) {
    this.#saver = SqliteSaver.fromConnString(file);
    this.#saver.db.pragma("journal_mode = WAL");
    this.#saver.db.pragma("synchronous = FULL");
  }

  save(session: string, messages: readonly SavedMessage[]): Promise<unknown> {
    this.#step += 1;
    const id = String(this.#step).padStart(12, "0");
    const config = { configurable: { thread_id: session, checkpoint_ns: "" } };
    const checkpoint = {
      v: 4,
      id,
      ts: new Date().toISOString(),
      channel_values: { messages },
      channel_versions: { messages: this.#step },
      versions_seen: {},
    };
    return this.#saver.put(config, checkpoint, { source: "loop", step: this.#step, parents: {} });
  }

  load(session: string): Promise<unknown> {
    return this.#saver.getTuple({ configurable: { thread_id: session, checkpoint_ns: "" } });
  }

  close(): void {
    this.#saver.db.close();
  }
}

export async function loadLangGraph(folder: string): Promise<SaverModule> {
  const entry = join(folder, "node_modules/@langchain/langgraph-checkpoint-sqlite/dist/index.js");
  const module: unknown = await import(pathToFileURL(entry).href);
  if (!isSaverModule(module)) throw new Error("LangGraph's checkpointer has another shape now.");
  return module;
}

function isSaverModule(module: unknown): module is SaverModule {
  if (typeof module !== "object" || module === null || !("SqliteSaver" in module)) return false;
  const { SqliteSaver } = module;
  return typeof SqliteSaver === "function" && "fromConnString" in SqliteSaver;
}
