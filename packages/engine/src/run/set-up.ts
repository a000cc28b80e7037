import { type Model, type ModelFailure, StoreFailure } from "../ports/index.ts";
import type { RunHandle } from "./run-handle.ts";

export interface SetUpDeps {
  /** The model that a session's next call goes to. */
  readonly modelFor: (run: RunHandle) => Promise<{ readonly name: string; readonly model: Model }>;
  readonly system: (run: RunHandle) => Promise<string>;
}

export interface SetUp {
  readonly name: string;
  readonly model: Model;
  readonly system: string;
}

/**
 * What a step needs before its model can be asked. A model that cannot be opened and a prompt that cannot be made are
 * told to the person like every other failure of a model; trying again would tell them the same thing later.
 */
export async function setUpStep(deps: SetUpDeps, run: RunHandle): Promise<SetUp | ModelFailure> {
  try {
    const { name, model } = await deps.modelFor(run);
    return { name, model, system: await deps.system(run) };
  } catch (error) {
    // A store that cannot be read now is no reason to end the run.
    if (error instanceof StoreFailure) throw error;
    const message = error instanceof Error ? error.message : String(error);
    return { class: "fatal", code: "not_set_up", message };
  }
}
