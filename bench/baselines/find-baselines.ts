import { join } from "node:path";

import type { Baseline } from "./baseline.ts";
import { installBaselines } from "./install.ts";
import { JsonFileStore } from "./json-file-store.ts";
import { LangGraphStore, loadLangGraph } from "./langgraph.ts";

export interface Baselines {
  /** Fresh ones, with their files in this folder. */
  open(folder: string): readonly Baseline[];
  /** Why one of them is missing. */
  readonly notes: readonly string[];
}

export const noBaselines: Baselines = { open: () => [], notes: [] };

/** The baselines available here. `bundled`: without those that have to be installed. */
export async function findBaselines(which: "all" | "bundled"): Promise<Baselines> {
  const json = (folder: string) => new JsonFileStore(join(folder, "json"));
  if (which === "bundled") return { open: (folder) => [json(folder)], notes: [] };
  try {
    const installed = await installBaselines();
    if (installed.status === "left out") throw new Error(installed.reason);
    const langGraph = await loadLangGraph(installed.folder);
    return {
      open: (folder) => [json(folder), new LangGraphStore(langGraph, join(folder, "langgraph.db"))],
      notes: [],
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      open: (folder) => [json(folder)],
      notes: [`LangGraph's checkpointer is left out (${reason}).`],
    };
  }
}
