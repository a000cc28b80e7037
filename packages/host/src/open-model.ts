import type { Model, Titler } from "@holdfast/engine";

import type { Config } from "./config/index.ts";
import { done, failed, type Outcome } from "./failure.ts";

export interface NamedModel {
  readonly name: string;
  readonly model: Model;
  readonly titler: Titler;
}

/** The model that the settings name. A provider is loaded when it is used. */
export async function openModel({ model }: Pick<Config, "model">): Promise<Outcome<NamedModel>> {
  const name = model.value;
  if (name !== "rehearsal") {
    return failed(
      "config.invalid",
      `The model ${name} is not there yet: for now HOLDFAST_MODEL can only be rehearsal, the built-in model that needs no provider.`,
    );
  }
  const { createRehearsalModel, createTitler } = await import("./models/index.ts");
  const opened = { name, model: createRehearsalModel() };
  return done({ ...opened, titler: createTitler(opened) });
}
