import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  createLog,
  type Failed,
  type FailureCode,
  type SpillStore,
  type Runner,
  type RunnerDeps,
  type Store,
  systemClock,
  withAmendments,
} from "@holdfast/engine";
import { aHolder } from "../fixtures/factories.ts";
import { createRunner, createGate, until } from "../rigs/run-rig.ts";
import { gate, says, type Script, scriptedModel } from "../fakes/scripted-model.ts";
import { type TestSession, assertPresent } from "../fixtures/open-session.ts";
import { entriesOf, type EntryView, type Part, type SessionId } from "@holdfast/protocol";

import { openSpillFolder } from "@holdfast/store/spill";
import type { TestDatabaseFactory } from "./test-database.ts";
import { openContractRig, type ContractRig, type SentMessage } from "./contract-rig.ts";
import { withMembers } from "./wrapped-stores.ts";

/** A folder of spills, as one home has it. */
export interface SpillHome {
  readonly path: string;
  readonly journals: SpillStore;
  /** How often a journal was looked for in it. */
  readonly readCount: () => number;
  readonly files: () => readonly string[];
}

/** A store that can be away for those who write through it. */
export interface StoreOutage {
  readonly store: Store;
  isDown: boolean;
  /** Commits arrive, and their answers do not. */
  dropsAnswers: boolean;
}

export interface LateJournalRig extends ContractRig {
  createHome(): Promise<SpillHome>;
  /** A runner with a store of its own that says a beginning, loses the store, goes on into its spill and is never heard of again. */
  abandonRun(script: Script, home: SpillHome, rest?: Partial<RunnerDeps>): Promise<AbandonedRun>;
  /** Whoever recovers: a runner that takes everybody before it for dead. */
  recoverer(home: SpillHome, rest?: Partial<RunnerDeps>, script?: Script): Runner;
  /** As a host reads: look, bring in what has turned up, look again. */
  read(runner: Runner, chat: TestSession): Promise<readonly EntryView[]>;
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
    store: withMembers(store, {
      async commit(commit) {
        if (outage.isDown) return failed("store_unavailable");
        const result = await store.commit(commit);
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

export async function openLateJournalRig(kind: TestDatabaseFactory): Promise<LateJournalRig> {
  const bed = await openContractRig(kind);
  const folder = mkdtempSync(join(tmpdir(), "holdfast-late-"));
  const started: Runner[] = [];
  let homes = 0;
  const { store } = bed;
  return {
    ...bed,
    async createHome() {
      const path = join(folder, `home-${(homes += 1)}`);
      const journals = await openSpillFolder(path, { reserveBytes: 4_096 });
      let looks = 0;
      const counted: SpillStore = {
        ...journals,
        read(ref) {
          looks += 1;
          return journals.read(ref);
        },
      };
      const files = () => readdirSync(path).filter((name) => name.endsWith(".spill"));
      return { path, journals: counted, readCount: () => looks, files };
    },
    async abandonRun(script, home, rest = {}) {
      const outage = createOutage(store);
      const runner = createRunner(outage.store, createLog(outage.store), {
        model: scriptedModel(script),
        clock: systemClock,
        deps: { spills: home.journals, ...rest },
      });
      started.push(runner);
      const said = await bed.send("Begin");
      runner.notify(said.chat.owner, said.chat.session);
      return { said, outage, runner };
    },
    recoverer(home, rest = {}, script = []) {
      const runner = createRunner(store, bed.log, {
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
      await bed[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function readAsHost(store: Store, runner: Runner, chat: TestSession) {
  const { owner, session } = chat;
  const visible = async () => {
    const snapshot = assertPresent(await store.reads.snapshot(owner, session, { limit: 100 }));
    return withAmendments(store.reads, snapshot.session, snapshot.entries.entries, "newest");
  };
  const first = await visible();
  const changed = await runner.recoverLateJournals(owner, session, first);
  return entriesOf(changed === "changed" ? await visible() : first);
}

/** Waits until the spill of this home says so. */
export async function untilSpilled(
  home: SpillHome,
  session: SessionId,
  text: string,
  pass: () => Promise<void> = async () => undefined,
): Promise<void> {
  await until(async () => {
    await pass();
    const header = (await spillHeaders(home)).find((each) => each.session === session);
    const answer = header && (await home.journals.read(header));
    return answer?.status === "output" && JSON.stringify(answer.events).includes(text);
  });
}

/** Read from the folder anew, since the one that writes keeps its own to itself. */
export async function spillHeaders(home: SpillHome) {
  return (await openSpillFolder(home.path, { reserveBytes: 4_096 })).left();
}

/** The files of one home turn up in another, as a person or a backup brings them. */
export function copySpills(from: SpillHome, to: SpillHome): void {
  for (const name of from.files()) copyFileSync(join(from.path, name), join(to.path, name));
}

/** The transcript in short; what was found late is marked. */
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

/** A run that said "It was " to the store and "a dark night." to the spill of another home; recovered here without it. */
export async function abandonAndRecover(
  bed: LateJournalRig,
  rest: { policy?: "off" | "ask" | "resume" } = {},
  script = [says("Again.")],
) {
  const [there, here] = [await bed.createHome(), await bed.createHome()];
  const away = createGate();
  const reply = [says("It was "), gate(away.promise), says("a dark night."), silence];
  const { said, outage } = await bed.abandonRun([reply], there);
  const { chat } = said;
  await until(async () => JSON.stringify(await chat.events()).includes("It was "));
  outage.isDown = true;
  away.open();
  await untilSpilled(there, chat.session, "dark night");
  const runner = bed.recoverer(here, rest, script);
  await runner.sweep();
  await runner.idle();
  return { said, chat, there, here, runner, read: () => bed.read(runner, chat) };
}
