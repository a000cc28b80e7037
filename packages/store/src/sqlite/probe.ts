import type { DatabaseSync } from "node:sqlite";

/** Called before each statement with its text. Tests use it to fail, to wait or to die at any point. */
export type Probe = (sql: string, database: DatabaseSync) => void;

const probeKey = Symbol.for("holdfast.sqlite.probe");
const probeRegistry = globalThis as { [probeKey]?: Probe };

/** To be called by a module that is preloaded into the writer's thread. */
export function installProbe(probe: Probe): void {
  probeRegistry[probeKey] = probe;
}

export function installedProbe(): Probe | undefined {
  return probeRegistry[probeKey];
}
