import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  createLog,
  type Failed,
  type FailureCode,
  type SpillHeader,
  type SpillStore,
  type Runner,
  type Store,
  systemClock,
  withAmendments,
} from "@holdfast/engine";
import { aHolder } from "../fixtures/factories.ts";
import { createRunner, createGate, until, type RigDeps } from "../rigs/run-rig.ts";
import { gate, says, type Script, scriptedModel } from "../fakes/scripted-model.ts";
import { type TestSession, assertPresent } from "../fixtures/open-session.ts";
import {
  entriesOf,
  type EntryView,
  ids,
  newEvent,
  type NewEvent,
  type Part,
  type SessionId,
} from "@holdfast/protocol";

import type { TestDatabaseFactory } from "./test-database.ts";
import { openContractRig, type ContractRig, type SentMessage } from "./contract-rig.ts";
import { withMembers } from "./wrapped-stores.ts";

/** The spill folder of one home. */
export interface SpillHome {
  readonly path: string;
  readonly journals: SpillStore;
  /** How often a journal was looked up in it. */
  readonly readCount: () => number;
  readonly files: () => readonly string[];
  /** The headers of its files. Rereads the folder, because the writer's own instance hides the files it writes. */
  readonly headers: () => Promise<readonly SpillHeader[]>;
  /** Damages the records of its one file. */
  readonly damage: () => void;
}

/** A store that can be made unreachable for its writers. */
export interface StoreOutage {
  readonly store: Store;
  isDown: boolean;
  /** Commits arrive, but their answers are lost. */
  dropsAnswers: boolean;
  /** Commits under way. What others can read may not have been answered yet. */
  unanswered: number;
}

export interface LateJournalRig extends ContractRig {
  createHome(): Promise<SpillHome>;
  /** A runner with its own store that streams some output, loses the store, continues into its spill and disappears. */
  abandonRun(script: Script, home: SpillHome, rest?: RigDeps): Promise<AbandonedRun>;
  /** A recovering runner that considers everybody before it dead. */
  recoverer(home: SpillHome, rest?: RigDeps, script?: Script): Runner;
  /** Reads like a host: read, ingest what has turned up, read again. */
  read(runner: Runner, chat: Pick<TestSession, "owner" | "session">): Promise<readonly EntryView[]>;
}

export interface AbandonedRun {
  readonly said: SentMessage;
  readonly outage: StoreOutage;
  readonly runner: Runner;
}

export function createOutage(store: Store): StoreOutage {
  const failed = (code: FailureCode): Failed => ({
    status: "failed",
    code,
    message: "gone",
  });
  const outage: StoreOutage = {
    isDown: false,
    dropsAnswers: false,
    unanswered: 0,
    store: withMembers(store, {
      async commit(commit) {
        if (outage.isDown) return failed("store_unavailable");
        outage.unanswered += 1;
        const result = await store.commit(commit);
        outage.unanswered -= 1;
        return outage.dropsAnswers ? failed("store_unknown") : result;
      },
      leases: {
        ...store.leases,
        renew: async (...args) =>
          outage.isDown ? failed("store_unavailable") : store.leases.renew(...args),
      },
    }),
  };
  return outage;
}

export async function openLateJournalRig(factory: TestDatabaseFactory): Promise<LateJournalRig> {
  const rig = await openContractRig(factory);
  const { spills } = factory;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-late-"));
  const started: Runner[] = [];
  let homes = 0;
  const { store } = rig;
  return {
    ...rig,
    async createHome() {
      const path = join(folder, `home-${(homes += 1)}`);
      const journals = await spills.open(path);
      let readCounts = 0;
      const countingReads: SpillStore = {
        ...journals,
        read(ref) {
          readCounts += 1;
          return journals.read(ref);
        },
      };
      return {
        path,
        journals: countingReads,
        readCount: () => readCounts,
        files: () => spills.files(path),
        headers: async () => (await spills.open(path)).left(),
        damage: () => spills.damage(join(path, assertPresent(spills.files(path)[0]))),
      };
    },
    async abandonRun(script, home, rest = {}) {
      const outage = createOutage(store);
      const runner = createRunner(outage.store, createLog(outage.store), {
        model: scriptedModel(script),
        clock: systemClock,
        deps: { spills: home.journals, ...rest },
      });
      started.push(runner);
      const said = await rig.send("Begin");
      runner.notify(said.chat.owner, said.chat.session);
      return { said, outage, runner };
    },
    recoverer(home, rest = {}, script = []) {
      const runner = createRunner(store, rig.log, {
        model: scriptedModel(script),
        holder: aHolder(),
        dead: () => true,
        deps: { spills: home.journals, policy: "off", ...rest },
      });
      started.push(runner);
      return runner;
    },
    read: (runner, chat) => readAsHost(store, runner, chat),
    async [Symbol.asyncDispose]() {
      for (const runner of started) await runner.stop();
      await rig[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function readAsHost(
  store: Store,
  runner: Runner,
  { owner, session }: Pick<TestSession, "owner" | "session">,
) {
  const visible = async () => {
    const snapshot = assertPresent(await store.reads.snapshot(owner, session, { limit: 100 }));
    return withAmendments(store.reads, snapshot.session, snapshot.entries.entries, "newest");
  };
  const first = await visible();
  const changed = await runner.recoverLateJournals(owner, session, first);
  return entriesOf(changed === "changed" ? await visible() : first);
}

/** Waits until the spill of this home matches. */
export async function untilSpilled(
  home: SpillHome,
  session: SessionId,
  text: string,
  pass: () => Promise<void> = async () => undefined,
): Promise<void> {
  await until(async () => {
    await pass();
    const header = (await home.headers()).find((candidate) => candidate.session === session);
    const answer = header && (await home.journals.read(header));
    return answer?.status === "output" && JSON.stringify(answer.events).includes(text);
  });
}

type SpilledType = "message.delta" | "tool.started" | "tool.ended";

/** Replaces the one spill of this home, as if written by a runner whose tools start without the store. */
export async function replaceSpill(
  home: SpillHome,
  eventsOf: (write: (type: SpilledType, data: object) => NewEvent) => readonly NewEvent[],
): Promise<void> {
  const header = assertPresent((await home.headers())[0]);
  await home.journals.forget(header);
  const opened = await home.journals.begin({ ...header, ingestId: ids.make("event") });
  if (opened.status === "failed") throw new Error(opened.message);
  const write = (type: SpilledType, data: object) =>
    newEvent(ids.make("event"), type, data as never, header.runId);
  await opened.file.append(eventsOf(write));
  await opened.file.close();
}

/** Copies the files of one home to another, as a person or a backup would. */
export function copySpills(from: SpillHome, to: SpillHome): void {
  for (const name of from.files()) copyFileSync(join(from.path, name), join(to.path, name));
}

/** The transcript in short; late entries are marked. */
export function summarizeEntries(entries: readonly EntryView[]): readonly string[] {
  return entries.map((entry) => {
    if (entry.type === "notice") return `notice: ${entry.kind}`;
    if (entry.type !== "message") return entry.type;
    const mark = entry.superseded ? " (superseded)" : "";
    return `${entry.role}: ${entry.parts.map(summarizePart).join("|")}${mark}`;
  });
}

function summarizePart(part: Part): string {
  const mark = "recovered" in part && part.recovered ? "*" : "";
  if (part.type === "text") return `${part.text}${mark}`;
  if (part.type === "tool_call") return `calls ${part.name}${mark}`;
  return part.type === "tool_result" ? `${part.outcome} ${part.output}${mark}` : part.type;
}

/** Says nothing more until it is stopped. */
export const silence = gate(new Promise(() => {}));

/**
 * A run that streamed "It was " to the store and "a dark night." to the spill of another home; recovered here without
 * it.
 */
export async function abandonAndRecover(
  rig: LateJournalRig,
  rest: { policy?: "off" | "ask" | "resume" } = {},
  script = [says("Again.")],
) {
  const [there, here] = [await rig.createHome(), await rig.createHome()];
  const away = createGate();
  const reply = [says("It was "), gate(away.promise), says("a dark night."), silence];
  const { said, outage } = await rig.abandonRun([reply], there);
  const { chat } = said;
  await until(async () => JSON.stringify(await chat.events()).includes("It was "));
  outage.isDown = true;
  away.open();
  await untilSpilled(there, chat.session, "dark night");
  const runner = rig.recoverer(here, rest, script);
  await runner.sweep();
  await runner.idle();
  return { said, chat, there, here, runner, read: () => rig.read(runner, chat) };
}
