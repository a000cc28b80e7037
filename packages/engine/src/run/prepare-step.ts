import type { Tool } from "../ports/tool.ts";
import type { ToolSpec } from "@holdfast/protocol";
import { type ModelFailure } from "../ports/model.ts";
import { StoreFailure } from "../ports/store.ts";
import { type Framed } from "../context/frame.ts";
import { shortHash } from "../hash.ts";
import { type ChosenModel, chooseModel, type ModelChain } from "./fallback.ts";
import type { RunContext } from "./run-context.ts";
import type { RunHandle } from "./run-handle.ts";

export interface StepDeps {
  /** The model that a session's next call goes to. */
  readonly modelFor: (run: RunHandle) => Promise<ModelChain>;
  /** The system prompt as it would be today. A session that has one keeps it while the signature is the same. */
  readonly system: (run: RunHandle) => Promise<string>;
  /** Of what the system prompt is made from; without it, of the prompt itself. */
  readonly signature?: (run: RunHandle) => Promise<string>;
  readonly tools: ReadonlyMap<string, Tool>;
}

export interface PreparedStep extends ChosenModel {
  readonly framed: Extract<Framed, { status: "framed" }>;
}

/**
 * What a step needs before its model can be asked. A model that cannot be opened and a prompt that cannot be made are
 * told to the person like every other failure of a model; trying again would tell them the same thing later.
 */
export async function prepareStep(
  deps: StepDeps,
  run: RunHandle,
  context: RunContext,
  standIn: string | null,
): Promise<PreparedStep | ModelFailure> {
  try {
    const chosen = chooseModel(await deps.modelFor(run), standIn);
    const framed = await context.frame(await frameSource(deps, run, chosen));
    if (framed.status === "failed") throw new StoreFailure(framed.code, framed.message);
    return { ...chosen, framed };
  } catch (error) {
    // A store that cannot be read now is no reason to end the run.
    if (error instanceof StoreFailure) throw error;
    const message = error instanceof Error ? error.message : String(error);
    return { class: "fatal", code: "not_set_up", message };
  }
}

async function frameSource(deps: StepDeps, run: RunHandle, chosen: ChosenModel) {
  const tools = [...deps.tools.values()].map(toolSpecOf);
  const system = () => deps.system(run);
  const named = deps.signature === undefined ? await system() : await deps.signature(run);
  const signature = signatureOf(named, tools);
  return {
    signature: chosen.isFallback ? signatureForFallback(signature, chosen.name) : signature,
    tools,
    system,
  };
}

/** A signature that names its parts keeps their names, so that a change can be told by them. */
function signatureOf(named: string, tools: readonly ToolSpec[]): string {
  const agent = /^(?:[a-z]+=[0-9a-f]+ ?)+$/u.test(named) ? named : `agent=${shortHash(named)}`;
  return `${agent} tools=${shortHash(JSON.stringify(tools))}`;
}

/** P9: another model keeps nothing of what was sent to the one before; the frame says that it is another. */
function signatureForFallback(signature: string, name: string): string {
  const parts = signature.split(" ").filter((part) => !part.startsWith("model="));
  return [`model=${shortHash(name)}`, ...parts].join(" ");
}

function toolSpecOf({ name, description, input }: Tool): ToolSpec {
  return { name, description, input };
}
