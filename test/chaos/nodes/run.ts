import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as rest } from "node:timers/promises";

import { createClient } from "@holdfast/client";
import { createLog, type Log } from "@holdfast/engine";
import { ownerId } from "@holdfast/protocol";
import { findFreePort } from "@holdfast/testing/process/free-port";
import { seededRandom, type SeededRandom } from "@holdfast/testing/simulator/scheduler";
import { FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";

import { ensureBuilt } from "../built-host.ts";
import { checkGateway, type SentMessage } from "../gateway/check.ts";
import { settled as settleGateway } from "../gateway/run.ts";
import { checkAll, readLogs } from "../processes/check.ts";
import { ChaosClient } from "../processes/client.ts";
import { askOverHttp } from "../processes/endpoints.ts";
import { figuresOf } from "../processes/figures.ts";
import { followAll, followInProcess, followOverHttp } from "../processes/followers.ts";
import { History } from "../processes/history.ts";
import { KnownSessions } from "../processes/known-sessions.ts";
import type { Endpoint } from "../processes/managed-process.ts";
import { leaseMs } from "../processes/protocol.ts";
import { processesWith, settle } from "../processes/settle.ts";
import type { ChaosResult } from "../report.ts";
import { openStore } from "../store/protocol.ts";
import {
  checkAnswers,
  checkCursors,
  checkOnce,
  effectsOf,
  readEffectFiles,
  writeCommand,
} from "./check-nodes.ts";
import { startCluster } from "./cluster.ts";
import { nodesFigures } from "./figures.ts";
import { createMachine, type Machine, token } from "./machine.ts";
import { NodesNemesis } from "./nemesis.ts";
import { checkResponses, talkToOpenAi } from "./openai-talker.ts";
import { machineNames } from "./ports.ts";
import { startProxy } from "./proxy.ts";
import { faultKinds, scheduleOf } from "./schedule.ts";
import { startVisitor } from "./visitor.ts";

export interface NodesChaosOptions {
  readonly seed: number;
  /** Each kind of fault is injected once, however short this is. */
  readonly minutes: number;
  readonly clients?: number;
  readonly sessions?: number;
  readonly print?: (line: string) => void;
  /** Times that are too long are problems. A busy machine proves nothing, so a test leaves this out. */
  readonly isTimed?: true;
  readonly keepHistory?: true;
}

const owner = ownerId.parse("owner");
const chats = [1, 2, 3];

/**
 * Three hosts on three machines, with one database behind them and one proxy without stickiness in front. People talk
 * through a browser, OpenAI's library, a chat platform and plain HTTP while machines and database fail by a schedule.
 */
export async function runNodesChaos(options: NodesChaosOptions): Promise<ChaosResult> {
  const { seed, minutes } = options;
  const startedAt = performance.now();
  const print = (line: string): void =>
    options.print?.(
      `${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(4)} s  ${line}`,
    );
  ensureBuilt();
  const chance = seededRandom(seed);
  const records = mkdtempSync(join(tmpdir(), "holdfast-nodes-records-"));
  const folder = mkdtempSync(join(tmpdir(), "holdfast-nodes-"));
  await using cleanup = new AsyncDisposableStack();
  const history = new History(join(records, "history.jsonl"));
  cleanup.defer(() => history.close());
  const machines: Machine[] = [];
  const cluster = await startCluster(() => machines.forEach((machine) => machine.resetDatabase()));
  cleanup.defer(() => cluster.close());
  const telegram = new FakeBotApi();
  await telegram.start();
  cleanup.defer(() => telegram.stop());

  const port = await findFreePort();
  const knownSessions = new KnownSessions();
  const nemesis = new NodesNemesis({ machines, cluster, history, knownSessions, print });
  cleanup.defer(async () => {
    await Promise.all(machines.map(({ member }) => member.end()));
    for (const machine of machines) machine.close();
  });
  for (const name of machineNames)
    machines.push(
      await createMachine(name, {
        folder,
        history,
        isTroubled: () => nemesis.isTroubled,
        database: cluster.url,
        telegram,
        origin: `http://127.0.0.1:${port}`,
      }),
    );
  for (const { member } of machines) {
    member.start();
    await member.ready;
  }
  await cluster.addReplica("synchronous");
  const proxy = await startProxy(
    port,
    machines.map((machine) => machine.port),
  );
  cleanup.defer(() => proxy.stop());
  const store = await openStore("postgres", cluster.outsideUrl);
  cleanup.defer(() => store.close());
  const log = createLog(store);
  const visitor = await startVisitor(proxy.address, Math.max(4_000, minutes * 2_000));
  cleanup.defer(() => visitor.close());

  const quiet = new AbortController();
  const over = new AbortController();
  const follower = { knownSessions, history };
  const client = createClient({ baseUrl: proxy.address, token });
  const following = [
    followAll({ ...follower, name: "page" }, followOverHttp(client), over.signal),
    followAll({ ...follower, name: "tail" }, followInProcess(log, owner), over.signal),
  ];
  cleanup.defer(async () => {
    over.abort();
    await Promise.all(following);
  });
  const said: SentMessage[] = [];
  const talking = [
    ...Array.from({ length: options.clients ?? 2 }, (_, n) =>
      new ChaosClient({
        name: `client${n + 1}`,
        knownSessions,
        endpoints: [throughProxy(proxy.address, history)],
        history,
        chance: seededRandom(chance.between(1, 1e9)),
        sessions: options.sessions ?? 3,
        script: writeCommand,
      }).talk(quiet.signal),
    ),
    visitor.talk(quiet.signal),
    chat(telegram, said, seededRandom(chance.between(1, 1e9)), quiet.signal),
  ];
  const responses = talkToOpenAi(proxy.address, quiet.signal);

  const schedule = scheduleOf(seed);
  const until = performance.now() + minutes * 60_000;
  while (nemesis.schedule.length < faultKinds.length || performance.now() < until)
    await nemesis.inject(schedule.next().value);
  print("peace");
  quiet.abort();
  await Promise.all(talking);
  const shown = await responses;
  print("everybody has been answered");

  const problems: string[] = [];
  for (const id of await sessionsOf(log))
    if (!knownSessions.all.has(id)) knownSessions.retire(knownSessions.add(id));
  const settled = await settle({
    members: machines,
    knownSessions,
    history,
    log,
    owner,
    beforeLeaving: async () => {
      const logs = await readLogs(store, owner, knownSessions.all.keys());
      print("the work is done");
      problems.push(...(await visitor.check()), ...(await checkResponses(proxy.address, shown)));
      print("page and responses are compared");
      await settleGateway({ client }, telegram);
      print("the chat has its answers");
      problems.push(...(await checkCursors(machines, logs, chance)));
    },
  });
  for (const pid of processesWith(folder))
    history.note({ kind: "wrong", what: `process ${pid} was left behind` });
  const logs = await readLogs(store, owner, knownSessions.all.keys());
  const effects = effectsOf(logs, readEffectFiles(machines.map(({ home }) => home)));
  const checked = await checkAll({ history, store, owner, settled, effects });
  const gateway = await checkGateway(store, owner, telegram, said);
  problems.push(...checked.problems, ...checkAnswers(checked.evidence), ...gateway.problems);
  problems.push(
    ...checkOnce(checked.evidence, [...shown.map(({ input }) => input), ...visitor.sent]),
  );
  const { figures, late } = nodesFigures({
    times: nemesis.times,
    evidence: checked.evidence,
    leaseMs,
    faults: nemesis.schedule,
  });
  // Hosts that wait for a processor say nothing about the time that they need.
  const isBusy = loadavg()[1]! > 2 * availableParallelism();
  if (options.isTimed === true && !isBusy) problems.push(...late);
  const all = figuresOf(history, { ...checked, problems }, effects);
  const command = `npm run chaos -- nodes --seed ${seed} --minutes ${minutes}`;
  if (problems.length === 0 && options.keepHistory !== true)
    rmSync(records, { recursive: true, force: true });
  else {
    problems.push(...(problems.length === 0 ? [] : [explain(command, nemesis.schedule, history)]));
    print(`history: ${history.file}`);
  }
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }));
  return {
    command,
    figures: {
      ...figures,
      "messages acknowledged": all["inputs acknowledged"] ?? 0,
      "messages of the page": visitor.sent.length,
      "responses of OpenAI's client, and those given up": `${shown.length}, ${shown.filter(({ end }) => end !== "response.completed").length}`,
      "messages in the chat, and chunks sent": `${said.length}, ${gateway.sent}`,
      "chunks unknown, each with a mark": gateway.unknown,
      "commands run": effects.length,
      "commands whose outcome is unknown": all["tools whose outcome is unknown"] ?? 0,
      "take-overs": all["take-overs"] ?? 0,
      "events shown to followers": all["events shown to followers"] ?? 0,
      "events that fsck accounted for": all["events that fsck accounted for"] ?? 0,
      "load of the machine, on average": loadavg()[1]!.toFixed(1),
      "requests answered by each host": [...proxy.answered.values()].join(", "),
      seconds: ((performance.now() - startedAt) / 1000).toFixed(0),
      "promises broken": problems.length,
    },
    problems,
  };
}

/** A client of the proxy doesn't know which host answers, or whether any does. */
function throughProxy(address: string, history: History): Endpoint {
  const client = createClient({ baseUrl: address, token });
  return {
    name: "proxy",
    isUp: true,
    async ask(number, request) {
      const told = await askOverHttp(client, request, AbortSignal.timeout(12_000));
      const isProxy = "code" in told && /^http 50[24]$/.test(told.code);
      const answer = isProxy ? ({ kind: "lost", why: told.code } as const) : told;
      history.note({ kind: "answered", number, answer });
      return answer;
    },
  };
}

async function chat(
  telegram: FakeBotApi,
  said: SentMessage[],
  chance: SeededRandom,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    const to = chance.pick(chats);
    const text = `message-${said.length}-${chance.between(1, 1e9)}`;
    said.push({ chat: to, text });
    telegram.say(to, `${text} {rate:${chance.pick([20, 100])}} {words:30}`);
    await rest(chance.between(2_000, 4_000), undefined, { signal: stop }).catch(() => undefined);
  }
}

async function sessionsOf({ store }: Log) {
  const { sessions } = await store.reads.sessions(owner, { limit: 10_000 });
  return sessions.map(({ id }) => id);
}

/** What is needed to do it again. */
function explain(command: string, schedule: readonly string[], { file }: History): string {
  return `again: ${command}; schedule: ${schedule.join("; ")}; history: ${file}`;
}
