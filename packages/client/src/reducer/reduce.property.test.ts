import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  decodeEvent,
  type EventRole,
  roleOf,
  type StoredEvent,
  terminalStates,
  foldLiveJournal,
  type Seq,
} from "@holdfast/protocol";
import { liveRun, prependEntries, type SessionState, startState } from "./state.ts";
import { reduceEvent, reduceEvents } from "./reduce.ts";
import {
  emptyState as blank,
  hostReadOf,
  sessionLog,
} from "@holdfast/testing/session-logs/session-log";

const runs = { numRuns: 400 };
/** A client: it follows, and reads again when the state says so. `whole` is the host's log. */
function follow(
  state: SessionState,
  events: readonly StoredEvent[],
  whole: readonly StoredEvent[],
): SessionState {
  let next = state;
  for (const event of events) {
    next = reduceEvent(next, event);
    if (next.readAgain === null) continue;
    expect(next.readAgain).toBe("history_returned");
    next = startState(hostReadOf(whole.filter(({ seq }) => seq <= next.seq)));
  }
  return next;
}

/** The seqs that settled messages name: what may be pruned. */
function prunable(log: readonly StoredEvent[]): Set<number> {
  const numbers = new Set<number>();
  for (const stored of log) {
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") continue;
    const { event } = decoded;
    if (event.type !== "message.assistant" && event.type !== "message.tool") continue;
    for (const [from, to] of event.data.deltas ?? [])
      for (let seq: number = from; seq <= to; seq++) numbers.add(seq);
  }
  return numbers;
}

function spelled(log: readonly StoredEvent[], messageId: string, part: number): string {
  let text = "";
  for (const { type, data } of log) {
    if (type !== "message.delta" || data["messageId"] !== messageId || data["part"] !== part)
      continue;
    if (typeof data["text"] === "string") text += data["text"];
  }
  return text;
}

function shownMessages({ entries, inbox, live }: SessionState): string[] {
  return [
    ...entries.flatMap((entry) => (entry.type === "message" ? [entry.messageId] : [])),
    ...inbox.map((item) => item.messageId),
    ...(live?.messages ?? []).map((message) => message.messageId),
    ...(live?.tools ?? []).map((tool) => tool.resultId),
  ];
}

function hasTwice(texts: readonly string[]): boolean {
  return new Set(texts).size !== texts.length;
}

const cursor = fc.nat({ max: 200 });
const at = (log: readonly StoredEvent[], position: number): number => position % (log.length + 1);

describe("from any log, a reader's state", () => {
  test("agrees with the host's read wherever the stream is split and resumed", () => {
    fc.assert(
      fc.property(sessionLog, cursor, cursor, (log, first, second) => {
        const [low, high] = [at(log, first), at(log, second)].toSorted((a, b) => a - b) as [
          number,
          number,
        ];
        const opened = startState(hostReadOf(log.slice(0, low)));
        const midway = follow(opened, log.slice(low, high), log);
        expect(midway).toStrictEqual(startState(hostReadOf(log.slice(0, high))));
        expect(follow(midway, log.slice(high), log)).toStrictEqual(startState(hostReadOf(log)));
      }),
      runs,
    );
  });

  test("is the same when parts of the stream repeat", () => {
    const stretches = fc.array(fc.tuple(cursor, cursor), { maxLength: 6 });
    fc.assert(
      fc.property(sessionLog, stretches, (log, again) => {
        let state = blank;
        let reached = 0;
        for (const [back, ahead] of again) {
          const from = Math.min(reached, at(log, back));
          const to = Math.max(from, at(log, ahead));
          state = follow(state, log.slice(from, to), log);
          reached = Math.max(reached, to);
        }
        state = follow(state, log.slice(reached), log);
        expect(state).toStrictEqual(startState(hostReadOf(log)));
        expect(reduceEvents(state, log)).toBe(state);
      }),
      runs,
    );
  });

  test("is the same when its cursor lies in a pruned range", () => {
    const keeps = fc.array(fc.boolean(), { minLength: 1, maxLength: 16 });
    fc.assert(
      fc.property(sessionLog, cursor, keeps, (log, position, keep) => {
        const gone = prunable(log);
        const pruned = log.filter(({ seq }) => !gone.has(seq) || keep[seq % keep.length]);
        const k = at(log, position);
        const opened = startState(hostReadOf(log.slice(0, k)));
        const state = follow(
          opened,
          pruned.filter(({ seq }) => seq > k),
          log,
        );
        expect(state).toStrictEqual(startState(hostReadOf(log)));
      }),
      runs,
    );
  });

  test("is plain JSON at every seq", () => {
    fc.assert(
      fc.property(sessionLog, (log) => {
        let state = blank;
        for (const event of log) {
          const next = reduceEvent(state, event);
          const copy = JSON.parse(JSON.stringify(state)) as SessionState;
          expect(copy).toStrictEqual(state);
          expect(reduceEvent(copy, event)).toStrictEqual(next);
          state = next;
        }
      }),
      { numRuns: 150 },
    );
  });

  test("tells a lost event from a pruned one", () => {
    fc.assert(
      fc.property(sessionLog, cursor, (log, position) => {
        const gone = prunable(log);
        const losable = log.slice(0, -1).filter(({ seq }) => !gone.has(seq));
        const lost = losable[position % losable.length];
        fc.pre(lost !== undefined);
        const state = reduceEvents(
          blank,
          log.filter(({ seq }) => seq !== lost.seq && !gone.has(seq)),
        );
        expect(state.gaps).toContainEqual(expect.arrayContaining([lost.seq]));
        expect(liveRun(state) !== null || state.readAgain !== null).toBe(true);
      }),
      runs,
    );
  });

  test("never shows a message twice, nor an ended run with its prompt or its live parts", () => {
    fc.assert(
      fc.property(sessionLog, (log) => {
        const ended = new Set<string>();
        let state = blank;
        for (const event of log) {
          state = reduceEvent(state, event);
          const decoded = decodeEvent(event);
          if (decoded.kind === "known" && decoded.event.type === "run.state")
            if (terminalStates.has(decoded.event.data.state)) ended.add(String(event.runId));
          const broken = [
            hasTwice(shownMessages(state)) && "shown twice",
            state.live !== null && ended.has(state.live.runId) && "live after the end",
            state.inbox.some((item) => ended.has(item.runId)) && "waiting after the end",
            state.run !== null &&
              terminalStates.has(state.run.state) !== ended.has(state.run.id) &&
              "another state than the log's",
          ].filter((problem) => problem !== false);
          if (broken.length > 0) throw new Error(`after ${event.seq}: ${broken.join(", ")}`);
        }
      }),
      runs,
    );
  });

  test("shows the text of the running step exactly as its deltas spell it", () => {
    fc.assert(
      fc.property(sessionLog, cursor, (log, position) => {
        const prefix = log.slice(0, at(log, position));
        const state = reduceEvents(blank, prefix);
        for (const message of state.live?.messages ?? []) {
          for (const { part, text } of message.parts)
            expect(text).toBe(spelled(prefix, message.messageId, part));
        }
        const decodes = prefix.filter((event) => decodeEvent(event).kind === "known");
        const having = (role: EventRole) => decodes.filter((event) => roleOf(event) === role);
        expect(state.session.version).toBe(having("entry").length);
        expect(state.session.revision).toBe(having("meta").length);
      }),
      runs,
    );
  });

  test("shows of the running step what the fold of its journal shows", () => {
    fc.assert(
      fc.property(sessionLog, cursor, (log, position) => {
        const prefix = log.slice(0, at(log, position));
        const state = reduceEvents(blank, prefix);
        const run = liveRun(state);
        fc.pre(run !== null);
        const startIndex = prefix.findIndex(
          ({ type, runId, data }) =>
            type === "step.started" && runId === run.id && data["step"] === run.step,
        );
        expect(foldLiveJournal(run.id, prefix.slice(Math.max(0, startIndex)))).toStrictEqual(
          state.live,
        );
      }),
      { numRuns: 300 },
    );
  });

  test("prepends earlier pages to what it holds, each entry once", () => {
    fc.assert(
      fc.property(sessionLog, cursor, cursor, (log, position, overlap) => {
        const read = hostReadOf(log);
        const cutAt = position % (read.entries.length + 1);
        const state = startState({
          ...read,
          entries: read.entries.slice(cutAt),
          earlier: 1 as Seq,
        });
        const page = { entries: read.entries.slice(0, cutAt + (overlap % 3)), earlier: null };
        expect(prependEntries(state, page)).toStrictEqual(startState(read));
      }),
      { numRuns: 150 },
    );
  });
});
