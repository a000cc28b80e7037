import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as rest } from "node:timers/promises";

import { type Client } from "@holdfast/client";
import { ownerId } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store";

import { FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import { ensureBuilt } from "../built-host.ts";
import { checkGateway, type SentMessage } from "./check.ts";
import { type GatewayHost, startGatewayHost } from "./host.ts";
import { crashPointName, type CrashPoint, crashPoints, crashAt } from "./crash-points.ts";
import { seededRandom } from "@holdfast/testing/simulator/scheduler";
import type { ChaosResult } from "../report.ts";

export interface GatewayChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** All of them by default. */
  readonly at?: readonly CrashPoint[];
  readonly print?: (line: string) => void;
}

const chats = [1, 2, 3];
const timeoutMs = 60_000;
/**
 * This many messages may be answered without reaching a crash point: on a slow machine an answer may be complete
 * before it is shown.
 */
const maxTurns = 3;
const killsInARow = 3;

/**
 * Kills a host with a bot at every point between an update and the delivery of its answer, over and over. After every
 * third kill it is paused there instead, until another host has taken everything over, and then resumes.
 */
export async function runGatewayChaos({
  kills,
  seed,
  at = crashPoints,
  print = () => {},
}: GatewayChaosOptions): Promise<ChaosResult> {
  ensureBuilt();
  const chance = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), "holdfast-chaos-gateway-"));
  const home = join(folder, "home");
  const platform = new FakeBotApi();
  await platform.start();
  const said: SentMessage[] = [];
  const problems: string[] = [];
  const hits = new Map<string, number>();
  const hosts = new Set<GatewayHost>();
  const start = async () => {
    const started = await startGatewayHost(home, platform);
    hosts.add(started);
    return started;
  };
  let host = await start();
  let pauses = 0;
  /** Sends a message and kills or pauses the host when its answer reaches this point. */
  const strikeAt = async (point: CrashPoint, name: string, strike: () => Promise<void>) => {
    const struck = crashAt(platform, point, chance, strike);
    // Only an answer that takes longer than the platform's rate limit is ever edited.
    const isEdit = point.method === "editMessageText";
    const cue = isEdit ? "{rate:20} {words:60}" : `{rate:${chance.pick([20, 200])}} {words:30}`;
    for (let turn = 0; turn < maxTurns; turn += 1) {
      const chat = chance.pick(chats);
      const text = `message-${name}.${turn}-of-${seed}`;
      said.push({ chat, text });
      platform.say(chat, `${text} ${cue}`);
      if (await within(struck, timeoutMs)) return true;
    }
    problems.push(`Nothing ever reached ${crashPointName(point)}: ${await stateOf(host)}`);
    platform.faults.before = () => {};
    platform.faults.after = () => {};
    return false;
  };
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      const point = at[kill % at.length]!;
      if (!(await strikeAt(point, String(kill), () => host.kill()))) break;
      hits.set(crashPointName(point), (hits.get(crashPointName(point)) ?? 0) + 1);
      print(`${kill + 1} of ${kills}: killed at ${crashPointName(point)}`);
      host = await start();
      // A run that is killed again and again is given up, but most should finish.
      if (kill % killsInARow !== killsInARow - 1) continue;
      await settled(host, platform);
      const late = host;
      const pausePoint = at[pauses % at.length]!;
      if (!(await strikeAt(pausePoint, `p${pauses}`, async () => late.pause()))) break;
      pauses += 1;
      print(`paused at ${crashPointName(pausePoint)}`);
      host = await start();
      await settled(host, platform);
      late.resume();
      // It answers again, and has noticed what it lost.
      await stateOf(late);
      await settled(host, platform);
      await late.kill();
    }
    await settled(host, platform);
    await host.kill();
    const store = await openSqliteStore({ file: join(home, "holdfast.db") });
    const found = await checkGateway(store, ownerId.parse("owner"), platform, said);
    await store.close();
    return {
      command: `npm run chaos -- gateway --kills ${kills} --seed ${seed}`,
      figures: {
        "kill -9": hits.values().reduce((sum, count) => sum + count, 0),
        "paused until another host had taken over": pauses,
        "messages said": said.length,
        "chunks sent": found.sent,
        "chunks unknown, each with a mark": found.unknown,
        "answers given up after three interruptions, each told": found.interrupted,
        ...Object.fromEntries([...hits].map(([name, count]) => [`killed at ${name}`, count])),
      },
      problems: [...problems, ...found.problems],
    };
  } finally {
    for (const started of hosts) await started.kill();
    await platform.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function within(done: Promise<void>, ms: number): Promise<boolean> {
  const over = new AbortController();
  const late = rest(ms, false, { signal: over.signal }).catch(() => false);
  const isDone = await Promise.race([done.then(() => true), late]);
  over.abort();
  return isDone;
}

async function stateOf({ client }: GatewayHost): Promise<string> {
  const read = await client.readGateway();
  return JSON.stringify(read.ok ? [read.value.state, read.value.outbox] : read.error);
}

/** Every accepted message has its answer: a run that waits for its lease has nothing to deliver yet. */
async function areAnswered(client: Client): Promise<boolean> {
  const listed = await client.listSessions();
  if (!listed.ok) return false;
  for (const { id } of listed.value.sessions) {
    const read = await client.readSession({ params: { id } });
    if (!read.ok || read.value.inbox.length > 0 || read.value.run?.endedAt === null) return false;
  }
  return true;
}

/** Every message was accepted and answered, and everything pending was sent. */
export async function settled(
  { client }: Pick<GatewayHost, "client">,
  platform: FakeBotApi,
): Promise<void> {
  const until = performance.now() + timeoutMs;
  for (let quiet = 0; quiet < 3;) {
    await rest(300);
    const read = await client.readGateway();
    const isQuiet =
      read.ok &&
      platform.unconfirmed === 0 &&
      (await areAnswered(client)) &&
      read.value.outbox.every(({ state }) => state !== "pending" && state !== "sending");
    quiet = isQuiet ? quiet + 1 : 0;
    if (performance.now() > until) return;
  }
}
