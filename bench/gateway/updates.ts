import { join } from "node:path";

import { type Line, lineOf } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";
import { started, startTask } from "../harness/task.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import type { Bench } from "./bench.ts";
import type { AcceptorTask } from "./bare-acceptor.ts";
import { type Bot, hookSecret, startBot } from "./bot.ts";

const notes = [
  "Accepted: pushed to the host as Telegram does to a webhook, and timed until it answers, which it does when the message and the answer that is owed for it are committed.",
  "Framework and driver: the same message, taken by a bare server that answers after one synced insert, in turns.",
  "Confirmed: timed from where the platform sends an update off to a host that asks for it, to where it is asked for what follows: the acceptance, and a request more. The next one comes when the answer is shown.",
];

/** Incoming messages, one after the other, each from its own chat, so that each creates a session. */
export const takeUpdates: WorkloadDefinition<Bench> = {
  id: "updates",
  title: "from an update to its acceptance",
  async measure({ sizes, prepare }) {
    const { times: accepted, bare } = await measureEach(prepare, "pushed", sizes.updates, push);
    const { times: confirmed } = await measureEach(
      prepare,
      "asked for",
      sizes.updates,
      sayAndConfirm,
    );
    return {
      lines: [
        beside(lineOf("update to accepted, p50", accepted.p50, "ms"), bare.p50),
        beside(lineOf("update to accepted, p99", accepted.p99, "ms", { below: 20 }), bare.p99),
        lineOf("update to confirmed by the next request, p50", confirmed.p50, "ms"),
        lineOf("update to confirmed by the next request, p99", confirmed.p99, "ms"),
      ],
      notes,
    };
  },
};

function beside(line: Line, ms: number): Line {
  const floor = { system: "framework and driver", value: ms, unit: "ms" } as const;
  return { ...line, figures: [...line.figures, floor] };
}

/** Each update is followed by one to the bare acceptor, once the answer to it was shown. */
async function measureEach(
  prepare: Bench["prepare"],
  how: "pushed" | "asked for",
  count: number,
  take: (bot: Bot, chat: number) => Promise<void>,
): Promise<{ readonly times: Samples; readonly bare: Samples }> {
  await using database = await prepare();
  await using bot = await startBot(database, count, how);
  const task: AcceptorTask = { file: join(database.folder, "bare.db") };
  const script = new URL("./bare-acceptor.ts", import.meta.url);
  await using acceptor = started(startTask(script, task), String);
  const bareAddress = await acceptor.answer;
  const times = new Samples();
  const bare = new Samples();
  for (let chat = 1; chat <= count; chat += 1) {
    const answered = Promise.withResolvers<void>();
    bot.platform.onShown = () => answered.resolve();
    const startedAt = performance.now();
    await take(bot, chat);
    if (chat > count / 10) times.add(performance.now() - startedAt);
    await answered.promise;
    const bareStartedAt = performance.now();
    await post(bareAddress, chat);
    if (chat > count / 10) bare.add(performance.now() - bareStartedAt);
  }
  return { times, bare };
}

async function sayAndConfirm({ platform }: Bot, chat: number): Promise<void> {
  const confirmed = Promise.withResolvers<void>();
  platform.faults.before = (method, { offset }) => {
    const isNext = method === "getUpdates" && Number(offset) >= platform.nextUpdate;
    if (isNext) confirmed.resolve();
  };
  platform.say(chat, `update ${chat} {words:1}`);
  await confirmed.promise;
}

async function push({ host }: Bot, chat: number): Promise<void> {
  await post(new URL("hooks/telegram", host.address).href, chat);
}

async function post(url: string, chat: number): Promise<void> {
  const from = { id: chat, is_bot: false, first_name: `Person ${chat}` };
  const text = `update ${chat} {words:1}`;
  const said = { message_id: chat, date: 0, from, chat: { id: chat, type: "private" }, text };
  const answer = await fetch(url, {
    method: "POST",
    body: JSON.stringify({ update_id: chat, message: said }),
    headers: { "x-telegram-bot-api-secret-token": hookSecret },
  });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`An update was answered with ${answer.status}.`);
}
