import { foldStep } from "@holdfast/engine";
import {
  type EventType,
  ids,
  newEvent,
  type RunId,
  type Seq,
  type StoredEvent,
} from "@holdfast/protocol";
import * as fc from "fast-check";

const delta = fc.record({
  part: fc.nat({ max: 2 }),
  text: fc.string({ maxLength: 6 }),
  /** Something that is not of the run comes before it. */
  isInterrupted: fc.boolean(),
});

/** The steps of a run: what its model wrote, what only a spill had of it, and the calls that it asked for. */
export const steps = fc.array(
  fc.record({
    deltas: fc.array(delta, { minLength: 1, maxLength: 8 }),
    spilled: fc.string({ maxLength: 6 }),
    /** Of a part after the last one. */
    spilledAfter: fc.string({ maxLength: 6 }),
    calls: fc.nat({ max: 2 }),
    notice: fc.boolean(),
    partial: fc.constantFrom(undefined, "failed" as const, "interrupted" as const),
  }),
  { minLength: 1, maxLength: 4 },
);

export type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never;

export interface RunLog {
  readonly events: readonly StoredEvent[];
  /** The seqs that may be pruned. */
  readonly deltas: ReadonlySet<number>;
}

const kindOf = (part: number) => (part % 2 === 0 ? "reasoning" : "text");

/** The log of one run. */
export function makeRunLog(runId: RunId, given: Steps): RunLog {
  const events: StoredEvent[] = [];
  const deltas = new Set<number>();
  function add(type: EventType, data: object, isOfRun = true): StoredEvent {
    const event = newEvent(ids.make("event"), type, data as never, isOfRun ? runId : undefined);
    const stored: StoredEvent = { ...event, seq: (events.length + 1) as Seq, at: 0 };
    events.push(stored);
    return stored;
  }
  add("run.state", { state: "claimed" });
  for (const [index, step] of given.entries()) {
    add("step.started", { step: index + 1, model: "m" });
    const messageId = ids.make("message");
    const journal = inOrder(step).map(({ part, text, isInterrupted }) => {
      if (isInterrupted) add("session.changed", { pinned: true }, false);
      const stored = add("message.delta", { messageId, text, kind: kindOf(part), part });
      deltas.add(stored.seq);
      return stored;
    });
    const last = journal.at(-1)?.data["part"] as number;
    const spilled = [
      { part: last, text: step.spilled },
      { part: last + 1, text: step.spilledAfter },
    ].map(({ part, text }) =>
      newEvent(ids.make("event"), "message.delta", { messageId, text, kind: kindOf(part), part }),
    );
    const { message } = foldStep(journal, spilled);
    const calls = Array.from({ length: step.calls }, () => ({
      type: "tool_call" as const,
      callId: ids.make("call"),
      name: "look",
      input: {},
    }));
    const { partial } = step;
    const parts = [...(message?.parts ?? []), ...calls];
    add("message.assistant", { ...message, parts, ...(partial && { partial }) });
    const results = calls.map(({ callId, name }) => ({
      type: "tool_result",
      callId,
      name,
      outcome: "ok",
      output: "seen",
    }));
    if (results.length > 0) add("message.tool", { messageId: ids.make("message"), parts: results });
    if (step.notice)
      add("notice.added", { noticeId: ids.make("notice"), kind: "note", text: "Hm." });
  }
  add("run.state", { state: "completed" });
  return { events, deltas };
}

/** A model writes its parts one after the other. */
export function inOrder({ deltas }: Steps[number]) {
  return deltas.toSorted((a, b) => a.part - b.part);
}

/** Without some of the deltas. */
export function pruneLog({ events, deltas }: RunLog, isPruned: Iterator<boolean>): RunLog {
  const kept = events.filter(({ seq }) => !deltas.has(seq) || isPruned.next().value !== true);
  return { events: kept, deltas };
}
