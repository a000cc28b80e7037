import type { DatabaseSync } from "node:sqlite";

/** Called before each statement with its text. Tests use it to fail, to wait or to die at any point. */
export type Probe = (sql: string, database: DatabaseSync) => void;

const place = Symbol.for("holdfast.sqlite.probe");
const places = globalThis as { [place]?: Probe };

/** To be called by a module that is preloaded into the writer's thread. */
export function watchStatements(probe: Probe): void {
  places[place] = probe;
}

export function registeredProbe(): Probe | undefined {
  return places[place];
}
