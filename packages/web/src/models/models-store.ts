import type { Client } from "@holdfast/client";
import type { RouteOutput, Routes } from "@holdfast/protocol";

export type ModelList = RouteOutput<Routes["listModels"]>;

export interface ModelsStore {
  /** `null` until the host has answered. */
  readonly read: () => ModelList | null;
  readonly subscribe: (listener: () => void) => () => void;
  readonly refresh: () => Promise<void>;
}

/** The model list, loaded with the first subscriber and again after a key was set. */
export function createModelsStore(client: Client): ModelsStore {
  let list: ModelList | null = null;
  const listeners = new Set<() => void>();
  async function refresh(): Promise<void> {
    const result = await client.listModels();
    if (!result.ok) return;
    list = result.value;
    listeners.forEach((listener) => listener());
  }
  return {
    read: () => list,
    subscribe(listener) {
      if (list === null && listeners.size === 0) void refresh();
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    refresh,
  };
}

/** The rehearsal model is a small program inside Holdfast, for trying it without a key. */
export function isRehearsal(name: string | null | undefined): boolean {
  return name === "rehearsal";
}
