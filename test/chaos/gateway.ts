import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as rest } from "node:timers/promises";

import { ownerId } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store";

import { FakeBotApi } from "../support/telegram/index.ts";
import { checkGateway, type Said } from "./gateway-check.ts";
import { type ChaosHost, startChaosHost } from "./gateway-host.ts";
import { nameOf, type Point, points, strikeAt } from "./gateway-points.ts";
import { seededChance } from "./random.ts";
import type { ChaosResult } from "./report.ts";

export interface GatewayChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** All of them, unless told. */
  readonly at?: readonly Point[];
  readonly say?: (line: string) => void;
}

const chats = [1, 2, 3];
const patienceMs = 60_000;

/** A host with a bot is killed at every point between an update and the delivery of its answer, over and over. */
export async function runGatewayChaos({
  kills,
  seed,
  at = points,
  say = () => {},
}: GatewayChaosOptions): Promise<ChaosResult> {
  const chance = seededChance(seed);
  const folder = mkdtempSync(join(tmpdir(), "holdfast-chaos-gateway-"));
  const home = join(folder, "home");
  const platform = new FakeBotApi();
  await platform.start();
  const said: Said[] = [];
  const hits = new Map<string, number>();
  let host: ChaosHost = await startChaosHost(home, platform);
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      const point = at[kill % at.length]!;
      const struck = strikeAt(platform, point, chance, () => host.kill());
      const chat = chance.pick(chats);
      const text = `message-${kill}-of-${seed}`;
      said.push({ chat, text });
      // Only an answer that takes longer than the platform's pace is ever edited.
      const rate = point.method === "editMessageText" ? 20 : chance.pick([20, 200]);
      platform.say(chat, `${text} {words:60} {rate:${rate}}`);
      await struck;
      hits.set(nameOf(point), (hits.get(nameOf(point)) ?? 0) + 1);
      say(`${kill + 1} of ${kills}: killed at ${nameOf(point)}`);
      host = await startChaosHost(home, platform);
    }
    await settled(host, platform);
    await host.kill();
    const store = await openSqliteStore({ file: join(home, "holdfast.db") });
    const found = await checkGateway(store, ownerId.parse("owner"), platform, said);
    await store.close();
    return {
      command: `npm run chaos -- gateway --kills ${kills} --seed ${seed}`,
      figures: {
        "kill -9": kills,
        "messages said": said.length,
        "chunks sent": found.sent,
        "chunks unknown, each with a mark": found.unknown,
        ...Object.fromEntries([...hits].map(([name, count]) => [`killed at ${name}`, count])),
      },
      problems: found.problems,
    };
  } finally {
    await host.kill();
    await platform.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Everything that came was taken, and everything that is owed is out. */
async function settled({ client }: ChaosHost, platform: FakeBotApi): Promise<void> {
  const until = performance.now() + patienceMs;
  for (let quiet = 0; quiet < 3;) {
    await rest(300);
    const read = await client.readGateway();
    const isQuiet =
      read.ok &&
      platform.unconfirmed === 0 &&
      read.value.outbox.every(({ state }) => state !== "pending" && state !== "sending");
    quiet = isQuiet ? quiet + 1 : 0;
    if (performance.now() > until) return;
  }
}
