import { setTimeout as rest } from "node:timers/promises";

import { createClient } from "@holdfast/client";

import { lineOf } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { token } from "../host/served-host.ts";
import type { Bench } from "./bench.ts";
import { type Bot, startBot } from "./bot.ts";

const shows = /^(?:send(?:Message|Photo|Document)|editMessageText)$/;
const perSecond = 30;
const paceMs = 1_000;
/** A call that arrives late doesn't count against the next one. */
const jitterMs = 50;
const lookMs = 250;

interface Call {
  readonly at: number;
  readonly chat: number;
  readonly method: string;
}

/** Many chats at once, each with a streaming answer, within the platform's rate limits. */
export const streamToChats: WorkloadDefinition<Bench> = {
  id: "chats",
  title: "chats with an answer being written, all at once",
  async measure({ sizes, prepare }) {
    await using database = await prepare();
    await using bot = await startBot(database, sizes.chats);
    const { platform, host } = bot;
    const calls: Call[] = [];
    platform.faults.before = (method, { chat_id: chat }) => {
      if (shows.test(method)) calls.push({ at: performance.now(), chat: Number(chat), method });
    };
    const startedAt = performance.now();
    for (let chat = 1; chat <= sizes.chats; chat += 1)
      platform.say(chat, `{rate:20} {words:${sizes.words}}`);
    while (!(await isWhole(bot))) await rest(lookMs);
    const seconds = (performance.now() - startedAt) / 1_000;
    const first = new Samples();
    for (let chat = 1; chat <= sizes.chats; chat += 1)
      first.add((calls.find((call) => call.chat === chat)?.at ?? Number.NaN) - startedAt);
    const [most, shortest] = [mostInASecond(calls), shortestPause(calls)];
    const params = { chats: sizes.chats, words: sizes.words };
    return {
      lines: [
        lineOf("until every answer is shown whole", seconds, "s", { params }),
        lineOf("until an answer is first seen, p50", first.p50, "ms", { params }),
        lineOf("until an answer is first seen, p99", first.p99, "ms", { params }),
        lineOf("calls that show something", calls.length / seconds, "/s", { params }),
        lineOf("most calls within a second", most, "/s", {
          params,
          bound: { text: `≤ ${perSecond} /s`, met: most <= perSecond },
        }),
        lineOf("shortest pause between two calls in a chat", shortest, "ms", {
          params,
          bound: { text: `≥ ${paceMs} ms`, met: shortest >= paceMs - jitterMs },
        }),
        lineOf("memory of the host", host.memory(), "bytes", { params }),
      ],
      notes: [
        `An answer takes ${sizes.words / 20} s to be written. The platform takes ${perSecond} calls a second in all and one a second in a chat.`,
      ],
    };
  },
};

/** Every message was accepted, and everything pending was sent. */
async function isWhole({ platform, host }: Bot): Promise<boolean> {
  if (platform.unconfirmed > 0) return false;
  const read = await createClient({ baseUrl: host.address, token }).readGateway();
  if (!read.ok) throw new Error(read.error.code);
  return read.value.outbox.length === 0;
}

function mostInASecond(calls: readonly Call[]): number {
  const counts = calls.map(({ at }) =>
    calls.filter((call) => call.at >= at && call.at < at + 1_000),
  );
  return Math.max(...counts.map(({ length }) => length));
}

function shortestPause(calls: readonly Call[]): number {
  const byChat = Map.groupBy(calls, ({ chat }) => chat);
  const pauses = [...byChat.values()].flatMap((times) =>
    times.slice(1).map(({ at }, index) => at - (times[index]?.at ?? 0)),
  );
  return Math.min(...pauses);
}
