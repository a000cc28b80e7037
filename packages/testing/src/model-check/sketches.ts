import {
  approvalDecision,
  deliveryId,
  ids,
  laneKey,
  outboxState,
  type RunState,
  type SeqRange,
} from "@holdfast/protocol";

import { aRange, aMessageId, aRunId, toSeq } from "../fixtures/factories.ts";
import type { Action } from "./actions.ts";
import type { ModelSession } from "./model-session.ts";
import type { Sketch } from "./steps.ts";

const nextStates: Partial<Record<RunState, readonly RunState[]>> = {
  claimed: ["claimed", "running", "waiting", "paused"],
  running: ["running", "waiting", "paused", "claimed"],
  waiting: ["claimed", "paused"],
  paused: ["claimed"],
};
const ends: readonly RunState[] = ["completed", "cancelled", "failed", "interrupted", "limit"];

export interface SketchContext {
  readonly session: ModelSession;
  /** Keeps this program's lanes apart from others'. */
  readonly mark: string;
}

/** Turns sketches into actions that mostly make sense in the session as it is now. */
export function fillIn(sketches: readonly Sketch[], around: SketchContext): Action[] {
  const actions: Action[] = [];
  for (const sketch of sketches) {
    if (sketch.do === "mark") actions.push(...completionActions(around.session.after(actions)));
    const action = toAct(sketch, around, actions);
    // With a second input it would depend on the order which one is the repeated one, and two settlements could
    // cancel out each other's mistakes.
    if (action.do === "accept" && actions.some((other) => other.do === "accept")) continue;
    if (isSettlement(action) && actions.some(isSettlement)) continue;
    actions.push(action);
  }
  return actions;
}

/** A mark makes sense after the completion of its run: the live one, or one that starts and ends here. */
function completionActions({ live }: ModelSession): Action[] {
  const runId = live?.runId ?? aRunId();
  const begun: Action[] = live === null ? [{ do: "run", runId, state: "claimed" }] : [];
  return [...begun, { do: "run", runId, state: "completed" }];
}

function isSettlement(action: Action): boolean {
  return action.do === "answer" && action.settles !== undefined;
}

function toAct(
  { do: what, n, m }: Sketch,
  around: SketchContext,
  before: readonly Action[],
): Action {
  const { session, mark } = around;
  const queued = session.waiting[n % Math.max(1, session.waiting.length)];
  switch (what) {
    case "say":
      return { do: "say", text: `said ${n}` };
    case "take":
      return queued
        ? { do: "say", text: queued.action.text, takes: queued.action.messageId }
        : { do: "say", text: `said ${m}` };
    case "answer":
      return { do: "answer", text: `answered ${n}` };
    case "stream":
      return { do: "stream", text: `${n}` };
    case "settle":
      return { do: "answer", text: `settled ${n}`, settles: openAfter(session, before, m) };
    case "accept": {
      const [messageId, runId] = [aMessageId(), aRunId()];
      return {
        do: "accept",
        clientId: `client-${n % 4}`,
        text: `input ${m % 2}`,
        messageId,
        runId,
        ...(m > 3 && {
          inbound: { key: `telegram:${mark}:${n % 3}`, delivery: ids.make("delivery") },
        }),
      };
    }
    case "remove":
      return { do: "remove", messageId: queued?.action.messageId ?? ids.make("message") };
    case "run":
      return nextRunAction(session.after(before), m);
    case "end": {
      const live = session.after(before).live;
      if (live === null) return { do: "run", runId: aRunId(), state: "queued" };
      return { do: "run", runId: live.runId, state: ends[m % ends.length] ?? "completed" };
    }
    case "cut": {
      const kept = rangesUpTo(session, Math.max(0, session.head - n));
      const own = session.head + before.length + 1;
      return {
        do: "cut",
        ranges: [...kept, aRange(own + (m % 2))],
        messageCount: m,
        preview: `cut ${n}`,
      };
    }
    case "change":
      return { do: "change", change: changes[n % changes.length] ?? {} };
    case "spend":
      return { do: "spend", tokens: n };
    case "ask": {
      const live = session.after(before).live;
      return { do: "ask", approvalId: ids.make("approval"), runId: live?.runId ?? aRunId() };
    }
    case "grant": {
      const asked = session.all("ask").slice(-3);
      const approvalId = asked[n % Math.max(1, asked.length)]?.action.approvalId;
      const decision = decisions[m % decisions.length] ?? "once";
      return { do: "grant", approvalId: approvalId ?? ids.make("approval"), decision };
    }
    case "mark": {
      const ended = before.findLast(
        (action) => action.do === "run" && action.state === "completed",
      );
      return { do: "mark", runId: ended?.do === "run" ? ended.runId : aRunId() };
    }
    case "remember": {
      const { marks, head } = session.after(before);
      const upTo = marks[n % Math.max(1, marks.length)]?.seq ?? head + (m % 2);
      return { do: "remember", how: outcomes[m % outcomes.length] ?? "tried", upTo, tries: n + 1 };
    }
    case "deliver": {
      const known = [...session.after(before).chunks.keys()];
      const [delivery] = known[n % Math.max(1, known.length)]?.split(" ") ?? [];
      return {
        do: "deliver",
        delivery: deliveryId.parse(delivery ?? ids.make("delivery")),
        chunk: n % 2,
        state: states[m % states.length] ?? "pending",
        attempts: n,
      };
    }
    case "bind":
      return { do: "bind", lane: laneKey.parse(`web:${mark}-${n % 2}`) };
    case "trash":
    case "restore":
    case "blunder":
      return { do: what };
  }
}

const outcomes = ["tried", "failed", "committed"] as const;
const decisions = approvalDecision.options;
const states = outboxState.options;

/** The live run advances, or a new one is claimed. */
function nextRunAction({ live }: ModelSession, n: number): Action {
  if (live === null) return { do: "run", runId: aRunId(), state: "claimed" };
  const next = nextStates[live.state] ?? ["claimed"];
  return { do: "run", runId: live.runId, state: next[n % next.length] ?? "claimed" };
}

const changes = [
  { pinned: true },
  { pinned: false, tags: ["b", "a", "b"] },
  { archived: true },
  { archived: false, tags: [] },
  { project: "p", tags: ["a"] },
  { project: null },
  { mode: "plan" },
  { mode: "full" },
  { persona: "pilot" },
  { persona: null },
  { title: "chosen", titleSource: "chosen" },
  { title: "generated", titleSource: "generated" },
] as const;

/** The open seqs at this point of the commit, sometimes one too few or too many. */
function openAfter(
  session: ModelSession,
  before: readonly Action[],
  slip: number,
): [number, number][] {
  const open = session.after(before).open.map(({ seq }) => seq);
  if (slip === 0) open.pop();
  if (slip === 1) open.push((open.at(-1) ?? 0) + 1);
  return open.map((seq) => [seq, seq]);
}

/** The part of a session's view at or below a seq, as another session would read it. */
export function rangesUpTo(session: ModelSession, upTo: number, as?: SeqRange["log"]): SeqRange[] {
  return session.ranges.flatMap(({ from, to, log = as }) => {
    const end = Math.min(to ?? upTo, upTo);
    return from <= end ? [{ from, to: toSeq(end), ...(log && { log }) }] : [];
  });
}
