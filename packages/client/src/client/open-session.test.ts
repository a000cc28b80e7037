import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  type StoredEvent,
  makeProblem,
  problemMediaType,
  encodeEventSseFrame,
  encodeResyncSseFrame,
  type Seq,
} from "@holdfast/protocol";
import { type SessionState, startState } from "../reducer/state.ts";
import { aNotice } from "@holdfast/testing/fixtures/factories";
import { hostReadOf, sessionLog } from "@holdfast/testing/session-logs/session-log";
import { testId } from "@holdfast/testing/session-logs/write-log";
import { createClient } from "./create-client.ts";
import { type Fetch } from "./call-route.ts";
import { type OpenItem } from "./open-session.ts";

/** How one connection of the stream goes wrong. */
interface Fault {
  readonly kind: "resync" | "refused" | "lossy" | "cut";
  readonly place: number;
}

const id = testId("session", 1);

function streamOf(text: string, end: "close" | "stay"): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      if (end === "close") controller.close();
    },
  });
  return new Response(body);
}

/** The first read is outdated; each later one is current. */
function hostOf(log: readonly StoredEvent[], firstRead: number, faults: readonly Fault[]): Fetch {
  let reads = 0;
  let streams = 0;
  return (url) => {
    const address = new URL(url);
    if (!address.pathname.endsWith("/events"))
      return Response.json(hostReadOf(reads++ === 0 ? log.slice(0, firstRead) : log));
    const missing = log.filter(({ seq }) => seq > Number(address.searchParams.get("after")));
    const fault = faults[streams++];
    if (fault === undefined) return streamOf(missing.map(encodeEventSseFrame).join(""), "stay");
    if (fault.kind === "refused") throw new TypeError("connection refused");
    if (fault.kind === "resync")
      return streamOf(encodeResyncSseFrame({ reason: "behind", seq: log.length as Seq }), "close");
    const breakAt = fault.place % Math.max(1, missing.length);
    const sent = fault.kind === "cut" ? missing.slice(0, breakAt) : missing.toSpliced(breakAt, 1);
    return streamOf(sent.map(encodeEventSseFrame).join(""), "close");
  };
}

const fault: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constantFrom("resync", "refused", "lossy", "cut"),
  place: fc.nat(),
});

async function lastState(
  fetch: Fetch,
  upTo: number,
  holder: "client" | "caller" = "client",
): Promise<SessionState | undefined> {
  const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
    ms < 20_000 || signal.aborted
      ? Promise.resolve()
      : new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
  const client = createClient({ baseUrl: "http://host", fetch, sleep });
  let last: SessionState | undefined;
  const options = holder === "caller" ? { heldState: () => last ?? null } : {};
  for await (const item of client.open(id, options)) {
    if (item.kind !== "state") continue;
    last = item.state;
    if (last.seq >= upTo && last.readAgain === null) break;
  }
  return last;
}

describe("an open session", () => {
  test("converges on what the host would answer, whatever is lost, cut or refused on the way", async () => {
    const plan = fc.tuple(fc.nat(), fc.array(fault, { maxLength: 5 }));
    await fc.assert(
      fc.asyncProperty(sessionLog, plan, async (log, [readAt, faults]) => {
        const fetch = hostOf(log, 1 + (readAt % log.length), faults);
        const state = await lastState(fetch, log.length);
        // During a run, missing events may still turn out to be pruned.
        fc.pre(state?.gaps.length === 0);
        expect(state).toStrictEqual(startState(hostReadOf(log)));
      }),
      { numRuns: 200 },
    );
  });

  test("converges on the same state when its caller holds it", async () => {
    const plan = fc.tuple(fc.nat(), fc.array(fault, { maxLength: 5 }));
    await fc.assert(
      fc.asyncProperty(sessionLog, plan, async (log, [readAt, faults]) => {
        const fetch = hostOf(log, 1 + (readAt % log.length), faults);
        const state = await lastState(fetch, log.length, "caller");
        fc.pre(state?.gaps.length === 0);
        expect(state).toStrictEqual(startState(hostReadOf(log)));
      }),
      { numRuns: 50 },
    );
  });

  test("that is followed for long drops its oldest entries", async () => {
    const [created] = fc.sample(sessionLog, { seed: 3, numRuns: 1 })[0] ?? [];
    if (created === undefined) throw new Error("A log begins with its session.");
    const notices = Array.from({ length: 700 }, (_, index) => ({
      ...aNotice(`notice ${index}`),
      seq: (index + 2) as Seq,
      at: index,
    }));
    const log: StoredEvent[] = [created, ...notices];
    const state = await lastState(hostOf(log, 1, []), log.length);
    expect(state?.entries.at(-1)?.seq).toBe(log.length);
    expect(state?.entries.length).toBeLessThanOrEqual(600);
    expect(state?.earlier).toBe(state?.entries[0]?.seq);
  });

  test("ends with the host's problem if it may not be read", async () => {
    const problem = makeProblem("session_not_found");
    const headers = { "content-type": problemMediaType };
    const fetch: Fetch = () => new Response(JSON.stringify(problem), { status: 404, headers });
    const items: OpenItem[] = [];
    for await (const item of createClient({ baseUrl: "http://host", fetch }).open(id))
      items.push(item);
    expect(items).toMatchObject([{ kind: "ended", error: { code: "session_not_found" } }]);
  });

  test("outlasts an unreachable host, and reports that it is offline", async () => {
    const states: string[] = [];
    let tries = 0;
    const log = fc.sample(sessionLog, { seed: 3, numRuns: 1 })[0] ?? [];
    const host = hostOf(log, log.length, []);
    const fetch: Fetch = (url, init) => {
      if (++tries <= 16) throw new TypeError("connection refused");
      return host(url, init);
    };
    const client = createClient({ baseUrl: "http://host", fetch, sleep: () => Promise.resolve() });
    for await (const item of client.open(id, { onConnection: (state) => states.push(state) })) {
      expect(item.kind).toBe("state");
      break;
    }
    expect(states).toStrictEqual(["reconnecting", "offline"]);
  });
});
