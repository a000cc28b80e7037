import { buildContext, type HashMemo, readContext, refreshContext } from "@holdfast/engine";
import { aUserMessage } from "@holdfast/testing/fixtures/factories";
import { assertCommitted } from "@holdfast/testing/fixtures/open-session";
import type { SessionId } from "@holdfast/protocol";

import { type Contender, interleave } from "../harness/interleave.ts";
import { type Line, ours } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { benchOwner } from "../store/fill.ts";
import type { Bench } from "./bench.ts";
import { createConversation, compactAway } from "./sessions.ts";

const allowed = 1.3;
const frame = { system: "You are being measured.", tools: [] };

/** What a long history costs when only its end is needed: P12 for the context. */
export const buildLive: WorkloadDefinition<Bench> = {
  id: "build",
  title: "reading and building the context of the live entries",
  async measure({ backend, sizes: { entries, live, pace } }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    const talks = new Map<number, SessionId>();
    for (const count of entries) {
      const session = await createConversation(store, count);
      await compactAway(store, session, { live, epoch: 1 });
      talks.set(count, session);
    }
    const contenders = [...talks].map(([count, session]): Contender => ({
      name: String(count),
      perRound: 5,
      async run() {
        const found = await readContext(store.reads, benchOwner, session);
        if (found === null || found.tail.length < live) throw new Error("Something is missing.");
        buildContext(found, frame, new Map());
      },
    }));
    const measured = await interleave(contenders, pace);
    await store.close();
    const first = String(entries[0]);
    const lines = entries.map((count): Line => {
      const { p50, p99 } = measured.of(String(count));
      const ratio = p50 / measured.of(first).p50;
      return {
        what: `${live} live of ${count.toLocaleString("en")}`,
        params: { entries: count, live },
        figures: [{ system: ours, value: p50, unit: "ms", more: { p99, ratio } }],
        bound: {
          text: `≤ ${allowed} × ${Number(first).toLocaleString("en")} (${ratio.toFixed(2)})`,
          met: ratio <= allowed,
        },
      };
    });
    return { lines };
  },
};

/** From turn to turn: only what is new is read and hashed. */
export const buildNext: WorkloadDefinition<Bench> = {
  id: "next",
  title: "one more entry",
  async measure({ backend, sizes: { live, pace } }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    const session = await createConversation(store, live);
    const whole = await readContext(store.reads, benchOwner, session);
    if (whole === null) throw new Error("There is no such session.");
    const warm: HashMemo = new Map();
    buildContext(whole, frame, warm);
    const known = warm.size;
    const commit = { owner: benchOwner, session, events: [aUserMessage("One more.")] };
    assertCommitted(await store.commit(commit));
    const measured = await interleave(
      [
        {
          name: "cold",
          perRound: 5,
          async run() {
            const found = await readContext(store.reads, benchOwner, session);
            if (found !== null) buildContext(found, frame, new Map());
          },
        },
        {
          name: "warm",
          perRound: 5,
          async run() {
            const found = await refreshContext(store.reads, benchOwner, session, whole);
            if (found !== null) buildContext(found, frame, new Map(warm));
          },
        },
      ],
      pace,
    );
    const now = await refreshContext(store.reads, benchOwner, session, whole);
    if (now !== null) buildContext(now, frame, warm);
    await store.close();
    const hashed = warm.size - known;
    const { p50: cold } = measured.of("cold");
    const { p50: next } = measured.of("warm");
    return {
      lines: [
        {
          what: "folded in, of what reading it all takes",
          params: { live },
          figures: [{ system: ours, value: (next / cold) * 100, unit: "%" }],
        },
      ],
      notes: [`Of ${known + hashed} blocks ${hashed} was hashed.`],
    };
  },
};
