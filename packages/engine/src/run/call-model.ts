import type { MessageId } from "@holdfast/protocol";

import type {
  Clock,
  Model,
  ModelCall,
  ModelEvent,
  ModelFailure,
  ModelRequest,
  ModelUsage,
} from "../ports/index.ts";
import type { Journal } from "./journal.ts";
import type { RunHandle } from "./run-handle.ts";
import { largest, storedSize } from "./sizes.ts";

/** How a model call ended, and what it asked for. What it said is in the journal. */
export interface CallEnd {
  readonly end: "done" | "stopped" | { readonly failure: ModelFailure };
  readonly calls: readonly ModelCall[];
  readonly usage: ModelUsage | null;
}

/** A provider that ignores its signal is left alone after this time. */
const abandonMs = 5_000;

/** Streams one model call into the journal. */
export async function callModel(
  run: RunHandle,
  model: Model,
  request: ModelRequest,
  rest: { readonly journal: Journal; readonly messageId: MessageId; readonly clock: Clock },
): Promise<CallEnd> {
  const { journal, messageId, clock } = rest;
  const calls: ModelCall[] = [];
  let size = 0;
  let usage: ModelUsage | null = null;
  let part = 0;
  let kind: "text" | "reasoning" | null = null;
  const { signal } = run;
  for await (const event of untilAbandoned(() => model.stream(request, signal), signal, clock)) {
    if (signal.aborted) return { end: "stopped", calls, usage };
    switch (event.kind) {
      case "text":
      case "reasoning":
        if (event.text === "") break;
        size += storedSize(event.text);
        if (size > largest.message) return { end: { failure: tooLong }, calls, usage };
        if (kind !== null && kind !== event.kind) part += 1;
        kind = event.kind;
        await journal.addText(messageId, part, event.kind, event.text);
        break;
      case "call":
        if (calls.length === largest.calls || storedSize(event.input) > largest.callInput) {
          return { end: { failure: tooMuchAsked }, calls: [], usage };
        }
        calls.push({ callId: run.ids.make("call"), name: event.name, input: event.input });
        break;
      case "usage":
        usage = event.usage;
        break;
      case "failed":
        return { end: { failure: event.failure }, calls, usage };
    }
  }
  return { end: signal.aborted ? "stopped" : "done", calls, usage };
}

const tooLong: ModelFailure = {
  class: "fatal",
  code: "answer_too_long",
  message: "The answer was longer than can be kept. What came before is above.",
};
const tooMuchAsked: ModelFailure = {
  class: "fatal",
  code: "calls_too_large",
  message: "The model asked for more, or for larger, tool calls than can be kept. None was run.",
};

/** The stream until it ends, or until some time after the signal. A provider that throws has failed. */
async function* untilAbandoned(
  open: () => AsyncIterable<ModelEvent>,
  signal: AbortSignal,
  clock: Clock,
): AsyncGenerator<ModelEvent> {
  const iterator = begun(open);
  const finished = new AbortController();
  const abandoned = new Promise<"abandoned">((resolve) => {
    const leave = () =>
      void clock.sleep(abandonMs, finished.signal).then(() => resolve("abandoned"));
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  });
  try {
    for (;;) {
      const next = await Promise.race([iterator.next().catch(brokenStream), abandoned]);
      if (next === "abandoned" || next.done === true) return;
      yield next.value;
    }
  } finally {
    finished.abort();
    void iterator.return?.().catch(() => {});
  }
}

function begun(open: () => AsyncIterable<ModelEvent>): AsyncIterator<ModelEvent> {
  try {
    return open()[Symbol.asyncIterator]();
  } catch (error) {
    const broken = brokenStream(error);
    return { next: () => Promise.resolve(broken) };
  }
}

function brokenStream(error: unknown): IteratorResult<ModelEvent> {
  const message = error instanceof Error ? error.message : String(error);
  const failure: ModelFailure = { class: "fatal", code: "model_broken", message };
  return { done: false, value: { kind: "failed", failure } };
}
