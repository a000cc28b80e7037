import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLog, type Log } from "@holdfast/engine";
import { ownerId } from "@holdfast/protocol";

import { findFreePort } from "@holdfast/testing/process/free-port";
import { ensureBuilt } from "../built-host.ts";
import { KnownSessions } from "./known-sessions.ts";
import { checkAll } from "./check.ts";
import { ChaosClient } from "./client.ts";
import {
  type ProcessEndpoint,
  hostEndpoint,
  type EndpointDeps,
  runnerEndpoint,
} from "./endpoints.ts";
import { figuresOf } from "./figures.ts";
import { followAll, followInProcess, followOverHttp } from "./followers.ts";
import { History } from "./history.ts";
import { Nemesis } from "./nemesis.ts";
import { createStoreUnderTest, type StoreUnderTest } from "./store-under-test.ts";
import type { Effect } from "./protocol.ts";
import { processesWith, settle } from "./settle.ts";
import { seededRandom } from "@holdfast/testing/simulator/scheduler";
import type { ChaosResult } from "../report.ts";
import { type Backend, openStore } from "../store/protocol.ts";

export interface ProcessChaosOptions {
  readonly backend: Backend;
  /** At least this many processes are killed with `kill -9`. */
  readonly kills: number;
  readonly seed: number;
  readonly runners?: number;
  readonly clients?: number;
  readonly sessions?: number;
  readonly print?: (line: string) => void;
  /** When something is wrong it is kept in any case. */
  readonly keepHistory?: true;
}

/** The principal of the host's token: all others act for the same one. */
const owner = ownerId.parse("owner");

/**
 * Real runners and a real host work on one store for clients that talk to all of them, while processes are killed and
 * stopped and the store fails. Then the faults stop; everything must finish, and all that anybody was told or shown
 * is checked.
 */
export async function runProcessChaos(options: ProcessChaosOptions): Promise<ChaosResult> {
  const { backend, kills, seed } = options;
  const startedAt = performance.now();
  ensureBuilt();
  const records = mkdtempSync(join(tmpdir(), "holdfast-nemesis-"));
  const history = new History(join(records, "history.jsonl"));
  await using place = await createStoreUnderTest(backend);
  const effects = join(records, "effects.jsonl");
  writeFileSync(effects, "");
  const store = await openStore(backend, place.target);
  try {
    const log = createLog(store);
    const deps = { ...options, place, history, log, effects };
    const settled = await play(deps);
    for (const pid of processesWith(place.folder))
      history.note({ kind: "wrong", what: `process ${pid} was left behind` });
    const done = readEffects(effects);
    const checked = await checkAll({ history, store, owner, settled, effects: done });
    const problems = explained(checked.problems, history, seed);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    const figures = { ...figuresOf(history, checked, done), seconds };
    if (problems.length === 0 && options.keepHistory !== true)
      rmSync(records, { recursive: true, force: true });
    else options.print?.(`history: ${history.file}`);
    const command = `npm run chaos -- processes --backend ${backend} --kills ${kills} --seed ${seed}`;
    return { command, figures, problems };
  } finally {
    history.close();
    await store.close();
  }
}

interface PlayDeps extends ProcessChaosOptions {
  readonly place: StoreUnderTest;
  readonly history: History;
  readonly log: Log;
  readonly effects: string;
}

/** From the first process to the last. Returns what everybody read in the end. */
async function play(deps: PlayDeps) {
  const { backend, kills, seed, place, history, log, print = () => {} } = deps;
  const chance = seededRandom(seed);
  const world: EndpointDeps = {
    history,
    isTroubled: () => nemesis.isTroubled,
    startupMessage: { backend, target: place.target, owner, effects: deps.effects },
    folder: place.folder,
    nextSeed: () => chance.between(1, 1e9),
  };
  const host = hostEndpoint("host", await findFreePort(), world);
  const runners = Array.from({ length: deps.runners ?? 2 }, (_, n) =>
    runnerEndpoint(`runner${n + 1}`, world),
  );
  const members: ProcessEndpoint[] = [...runners, host];
  const nemesis = new Nemesis({ kills, chance, members, place, history, print });

  const knownSessions = new KnownSessions();
  const quiet = new AbortController();
  const over = new AbortController();
  const follower = { knownSessions, history };
  const following = [
    followAll({ ...follower, name: "page" }, followOverHttp(host.client), over.signal),
    followAll({ ...follower, name: "tail" }, followInProcess(log, owner), over.signal),
  ];
  try {
    for (const { member } of members) member.start();
    await Promise.all(members.map(({ member }) => member.ready));
    const talking = Array.from({ length: deps.clients ?? 3 }, (_, n) =>
      new ChaosClient({
        name: `client${n + 1}`,
        knownSessions,
        endpoints: members,
        history,
        chance: seededRandom(chance.between(1, 1e9)),
        sessions: deps.sessions ?? 4,
      }).talk(quiet.signal),
    );
    await nemesis.inject();
    quiet.abort();
    await Promise.all(talking);
    print("peace");
    return await settle({ members, knownSessions, history, log, owner });
  } finally {
    over.abort();
    await Promise.all(members.map(({ member }) => member.end()));
    await Promise.all(following);
  }
}

function readEffects(file: string): Effect[] {
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Effect);
}

/** Gives whoever reads of a failure what is needed to investigate it. */
function explained(problems: readonly string[], history: History, seed: number): string[] {
  if (problems.length === 0) return [];
  const faults = history.of("fault").filter(({ what }) => what !== "start");
  const last = faults.slice(-8).map(({ what, whom }) => `${what} (${whom})`);
  return [...problems, `seed ${seed}; last faults: ${last.join(", ")}; history: ${history.file}`];
}
