import type { Json } from "@holdfast/protocol";

import type { Model, ModelEvent, ModelFailure, ModelRequest, ModelUsage } from "@holdfast/engine";

export type ScriptedStep =
  | ModelEvent
  | { readonly kind: "gate"; readonly opened: Promise<unknown> }
  | { readonly kind: "hang" };

/** What the model does in one call. Lists may be nested, so that the result of any builder fits. */
export type ScriptedReply = ScriptedStep | readonly ScriptedReply[];

/** One reply per call, in order; or a function of the request and the number of calls before it. */
export type Script =
  | readonly (ScriptedReply | ((request: ModelRequest) => ScriptedReply))[]
  | ((request: ModelRequest, callsBefore: number) => ScriptedReply);

export interface ScriptedModel extends Model {
  /** Every request so far, as it was when it came. */
  readonly requests: readonly ModelRequest[];
}

/**
 * A model that follows the test's script. It keeps the port's contract: it ends soon after an abort, except at a
 * `hang`. A call without a reply fails with `script_ended`.
 */
export function scriptedModel(script: Script): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    requests,
    stream(request, signal) {
      const callsBefore = requests.push(structuredClone(request)) - 1;
      return perform(chooseReply(script, request, callsBefore), signal);
    },
  };
}

function chooseReply(script: Script, request: ModelRequest, callsBefore: number): ScriptedReply {
  if (typeof script === "function") return script(request, callsBefore);
  const reply = script[callsBefore];
  if (typeof reply === "function") return reply(request);
  if (reply !== undefined) return reply;
  const message = `The script has ${script.length} replies; this is call ${callsBefore + 1}.`;
  return fails("fatal", { code: "script_ended", message });
}

async function* perform(reply: ScriptedReply, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  for (const step of stepsOf(reply)) {
    if (signal.aborted) return;
    switch (step.kind) {
      case "gate":
        await settledOrAborted(step.opened, signal);
        break;
      case "hang":
        await new Promise<never>(() => {});
        break;
      case "failed":
        yield step;
        return;
      default:
        yield step;
    }
  }
}

function* stepsOf(reply: ScriptedReply): Generator<ScriptedStep> {
  if ("kind" in reply) yield reply;
  else for (const part of reply) yield* stepsOf(part);
}

/** The listener goes with the wait: a signal that lives for a whole run must not collect one per gate. */
function settledOrAborted(opened: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      signal.removeEventListener("abort", finish);
      resolve();
    };
    signal.addEventListener("abort", finish);
    if (signal.aborted) finish();
    void opened.then(finish, finish);
  });
}

/** Everything that a model says in one call. */
export async function readToEnd(stream: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** One event per piece. */
export function says(...pieces: readonly string[]): readonly ScriptedStep[] {
  return pieces.map((text) => ({ kind: "text", text }));
}

export function thinks(...pieces: readonly string[]): readonly ScriptedStep[] {
  return pieces.map((text) => ({ kind: "reasoning", text }));
}

export function calls(name: string, input: Json = {}): ScriptedStep {
  return { kind: "call", name, input };
}

export function uses(usage: Partial<ModelUsage> = {}): ScriptedStep {
  return { kind: "usage", usage: { input: 0, output: 0, ...usage } };
}

/** Ends the reply: the port allows nothing after a failure. */
export function fails(
  failureClass: ModelFailure["class"],
  more: Partial<Omit<ModelFailure, "class">> = {},
): ScriptedStep {
  const message = `The script says: ${failureClass}.`;
  const failure = { class: failureClass, code: `scripted_${failureClass}`, message, ...more };
  return { kind: "failed", failure };
}

/** Waits until the promise settles, or until the abort. */
export function gate(opened: Promise<unknown>): ScriptedStep {
  return { kind: "gate", opened };
}

/** Never ends, whatever the signal says: a provider that has to be abandoned. */
export const hang: ScriptedStep = { kind: "hang" };
