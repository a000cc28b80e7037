import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createLog } from "@holdfast/engine";
import { ids, newEvent, ownerId } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { readConfig } from "../../ops/config/read-config.ts";
import { type Command, exit, type Terminal } from "../command.ts";
import { benchStrings as texts } from "../strings/host.ts";

const benchSeconds = 2;
const writers = 32;

export const bench: Command = {
  usage: ["bench"],
  about: texts.about,
  examples: [["holdfast bench", texts.examples.bench]],
  settings: "reach",
  async run(given, terminal) {
    const config = readConfig({ ...terminal, flags: given.flags });
    if (!config.ok) {
      terminal.printError(config.failure.message);
      return exit.failed;
    }
    try {
      return await measure(config.value.home.value, terminal);
    } catch (error) {
      terminal.printError(error instanceof Error ? error.message : String(error));
      return exit.failed;
    }
  },
};

async function measure(home: string, terminal: Terminal): Promise<number> {
  const folder = mkdtempSync(join(home, "bench-"));
  try {
    const store = await openSqliteStore({ file: join(folder, "bench.db") });
    try {
      const log = createLog(store);
      const owner = ownerId.parse("bench");
      const createSession = async () =>
        (await log.createSession({ owner, settings: {}, ids })).session;
      const write = async (session: Awaited<ReturnType<typeof createSession>>): Promise<void> => {
        const event = newEvent(ids.make("event"), "session.changed", { title: "A title" });
        const result = await store.commit({ owner, session, events: [event] });
        if (result.status !== "committed") throw new Error(JSON.stringify(result));
      };
      const session = await createSession();
      const sessions = await Promise.all(Array.from({ length: writers }, createSession));
      printRate(terminal, texts.oneByOne, await rate(() => write(session)));
      printRate(
        terminal,
        texts.atOnce(writers),
        await rate(() => Promise.all(sessions.map(write)), writers),
      );
      return exit.done;
    } finally {
      await store.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Operations per second over the measured time. */
async function rate(work: () => Promise<unknown>, operationsPerCall = 1): Promise<number> {
  const endsAt = performance.now() + benchSeconds * 1000;
  const startedAt = performance.now();
  let count = 0;
  while (performance.now() < endsAt) {
    await work();
    count += operationsPerCall;
  }
  return count / ((performance.now() - startedAt) / 1000);
}

function printRate(terminal: Terminal, label: string, perSecond: number): void {
  terminal.print(texts.rate(label, Math.round(perSecond)));
}
