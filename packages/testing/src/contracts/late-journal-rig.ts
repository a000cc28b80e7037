import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  createLog,
  type Failed,
  type FailureCode,
  type JournalPlace,
  type Runner,
  type RunnerDeps,
  type Store,
  systemClock,
  withAmendments,
} from "@holdfast/engine";
import { aHolder } from "../fixtures/factories.ts";
import { createRunner } from "../rigs/run-rig.ts";
import { gate, says, type Script, scriptedModel } from "../fakes/scripted-model.ts";
import { gated, until } from "../rigs/run-words.ts";
import { type OpenSession, present } from "../fixtures/open-session.ts";
import { entriesOf, type EntryView, type Part, type SessionId } from "@holdfast/protocol";

import { openSpillFolder } from "@holdfast/store/spill";
import type { DatabaseKind } from "./test-database.ts";
import { openRunBed, type RunBed, type Said } from "./contract-rig.ts";
import { withMembers } from "./wrapped-stores.ts";

/** A folder of spills, as one home has it. */
export interface Home {
  readonly path: string;
  readonly journals: JournalPlace;
  /** How often a journal was looked for in it. */
  readonly looks: () => number;
  readonly files: () => readonly string[];
}

/** A store that can be away for those who write through it. */
export interface Outage {
  readonly store: Store;
  away: boolean;
  /** Commits arrive, and their answers do not. */
  swallow: boolean;
}

export interface LateBed extends RunBed {
  home(): Promise<Home>;
  /** A runner with a store of its own that says a beginning, loses the store, goes on into its spill and is never heard of again. */
  leaveBehind(script: Script, home: Home, rest?: Partial<RunnerDeps>): Promise<LeftBehind>;
  /** Whoever recovers: a runner that takes everybody before it for dead. */
  recoverer(home: Home, rest?: Partial<RunnerDeps>, script?: Script): Runner;
  /** As a host reads: look, bring in what has turned up, look again. */
  read(runner: Runner, chat: OpenSession): Promise<readonly EntryView[]>;
}

export interface LeftBehind {
  readonly said: Said;
  readonly outage: Outage;
  readonly runner: Runner;
}

export function outageOf(store: Store): Outage {
  const failed = (code: FailureCode): Failed => ({
    status: "failed",
    code,
    message: "gone",
  });
  const outage: Outage = {
    away: false,
    swallow: false,
    store: withMembers(store, {
      async commit(commit) {
        if (outage.away) return failed("store_unavailable");
        const result = await store.commit(commit);
        return outage.swallow ? failed("store_unknown") : result;
      },
      leases: {
        ...store.leases,
        renew: async (...args) =>
          outage.away ? failed("store_unavailable") : store.leases.renew(...args),
      },
    }),
  };
  return outage;
}

export async function openLateBed(kind: DatabaseKind): Promise<LateBed> {
  const bed = await openRunBed(kind);
  const folder = mkdtempSync(join(tmpdir(), "holdfast-late-"));
  const started: Runner[] = [];
  let homes = 0;
  const { store } = bed;
  return {
    ...bed,
    async home() {
      const path = join(folder, `home-${(homes += 1)}`);
      const journals = await openSpillFolder(path, { roomBytes: 4_096 });
      let looks = 0;
      const counted: JournalPlace = {
        ...journals,
        read(ref) {
          looks += 1;
          return journals.read(ref);
        },
      };
      const files = () => readdirSync(path).filter((name) => name.endsWith(".spill"));
      return { path, journals: counted, looks: () => looks, files };
    },
    async leaveBehind(script, home, rest = {}) {
      const outage = outageOf(store);
      const runner = createRunner(outage.store, createLog(outage.store), {
        model: scriptedModel(script),
        clock: systemClock,
        deps: { journals: home.journals, ...rest },
      });
      started.push(runner);
      const said = await bed.say("Begin");
      runner.poke(said.chat.owner, said.chat.session);
      return { said, outage, runner };
    },
    recoverer(home, rest = {}, script = []) {
      const runner = createRunner(store, bed.log, {
        model: scriptedModel(script),
        holder: aHolder(),
        dead: () => true,
        deps: { journals: home.journals, policy: "off", ...rest },
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

async function readAsHost(store: Store, runner: Runner, chat: OpenSession) {
  const { owner, session } = chat;
  const visible = async () => {
    const snapshot = present(await store.reads.snapshot(owner, session, { limit: 100 }));
    return withAmendments(store.reads, snapshot.session, snapshot.entries.entries, "newest");
  };
  const first = await visible();
  const changed = await runner.recoverLate(owner, session, first);
  return entriesOf(changed === "changed" ? await visible() : first);
}

/** Waits until the spill of this home says so. */
export async function spilled(
  home: Home,
  session: SessionId,
  text: string,
  pass: () => Promise<void> = async () => undefined,
): Promise<void> {
  await until(async () => {
    await pass();
    const header = (await headers(home)).find((each) => each.session === session);
    const answer = header && (await home.journals.read(header));
    return answer?.status === "output" && JSON.stringify(answer.events).includes(text);
  });
}

/** Read from the folder anew, since the one that writes keeps its own to itself. */
export async function headers(home: Home) {
  return (await openSpillFolder(home.path, { roomBytes: 4_096 })).left();
}

/** The files of one home turn up in another, as a person or a backup brings them. */
export function carry(from: Home, to: Home): void {
  for (const name of from.files()) copyFileSync(join(from.path, name), join(to.path, name));
}

/** The transcript in short; what was found late is marked. */
export function shown(entries: readonly EntryView[]): readonly string[] {
  return entries.map((entry) => {
    if (entry.type === "notice") return `notice: ${entry.kind}`;
    if (entry.type !== "message") return entry.type;
    const mark = entry.superseded ? " (superseded)" : "";
    return `${entry.role}: ${entry.parts.map(inShort).join("|")}${mark}`;
  });
}

function inShort(part: Part): string {
  const mark = "recovered" in part && part.recovered ? "*" : "";
  if (part.type === "text") return `${part.text}${mark}`;
  if (part.type === "tool_call") return `calls ${part.name}${mark}`;
  return part.type === "tool_result" ? `${part.outcome} ${part.output}${mark}` : part.type;
}

/** Says nothing more until it is stopped. */
export const silence = gate(new Promise(() => {}));

/** A run that said "It was " to the store and "a dark night." to the spill of another home; recovered here without it. */
export async function leaveRecovering(
  bed: LateBed,
  rest: { policy?: "off" | "ask" | "resume" } = {},
  script = [says("Again.")],
) {
  const [there, here] = [await bed.home(), await bed.home()];
  const away = gated();
  const reply = [says("It was "), gate(away.promise), says("a dark night."), silence];
  const { said, outage } = await bed.leaveBehind([reply], there);
  const { chat } = said;
  await until(async () => JSON.stringify(await chat.events()).includes("It was "));
  outage.away = true;
  away.open();
  await spilled(there, chat.session, "dark night");
  const runner = bed.recoverer(here, rest, script);
  await runner.sweep();
  await runner.idle();
  return { said, chat, there, here, runner, read: () => bed.read(runner, chat) };
}
