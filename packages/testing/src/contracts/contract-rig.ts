import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  admitMessage,
  createLog,
  type LeaseRow,
  type Log,
  type NewInput,
  type RunRow,
  type Store,
} from "@holdfast/engine";
import { type TestSession, openTestSession, assertPresent } from "../fixtures/open-session.ts";
import { transcriptLines } from "../rigs/run-rig.ts";
import { ids, type RunId, terminalStates } from "@holdfast/protocol";

import type {
  ObservableDatabase,
  ObservedStore,
  OpenOptions,
  TestDatabase,
  TestDatabaseFactory,
} from "./test-database.ts";

/** An accepted message, and what became of it. */
export interface SentMessage {
  readonly chat: TestSession;
  readonly runId: RunId;
  run(): Promise<RunRow>;
  /** The conversation in short. */
  transcript(): Promise<readonly string[]>;
  /** The terminal states that its run has reached; ideally one. */
  terminalStates(): Promise<readonly unknown[]>;
}

/** A database, this process's store on it, and a folder for files that outlive processes. */
export interface ContractRig<Database extends TestDatabase = TestDatabase> extends AsyncDisposable {
  readonly database: Database;
  readonly store: Store;
  readonly log: Log;
  /** A file that records the effects of tools. */
  readonly effects: string;
  send(
    text: string,
    rest?: { chat?: TestSession } & Pick<NewInput, "mode" | "attached">,
  ): Promise<SentMessage>;
  /** Moves the clock of this process's store. */
  advanceClock(ms: number): void;
  /** The stored leases of a session, including expired ones. */
  leasesOf(chat: Pick<TestSession, "session">): Promise<readonly LeaseRow[]>;
}

export async function openContractRig<Database extends TestDatabase>(
  { create }: TestDatabaseFactory<Database>,
  open = (database: Database, options: OpenOptions): Promise<Store> => database.open(options),
): Promise<ContractRig<Database>> {
  const database = await create();
  let passed = 0;
  const store = await open(database, { clockOffset: () => passed });
  const log = createLog(store);
  const folder = mkdtempSync(join(tmpdir(), "holdfast-effects-"));
  const effects = join(folder, "effects");
  writeFileSync(effects, "");
  return {
    database,
    store,
    log,
    effects,
    async send(text, { chat: known, ...rest } = {}) {
      const chat = known ?? (await openTestSession(store));
      const { owner, session } = chat;
      const input = { owner, session, clientId: ids.make("message"), text, ...rest };
      const answer = await admitMessage(log, ids, input);
      if (answer.status !== "accepted") throw new Error(JSON.stringify(answer));
      return sentMessage(store, chat, answer.runId);
    },
    advanceClock: (ms) => void (passed += ms),
    async leasesOf({ session }) {
      const leases: LeaseRow[] = [];
      for await (const lease of store.audit.leases())
        if (lease.session === session) leases.push(lease);
      return leases;
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await database.drop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A rig whose store's writes are observed. */
export async function openObservedRig(
  factory: TestDatabaseFactory<ObservableDatabase>,
): Promise<ContractRig<ObservableDatabase> & Pick<ObservedStore, "observe">> {
  const opened: ObservedStore[] = [];
  const rig = await openContractRig(factory, async (database, options) => {
    const observed = await database.openObserved(options);
    opened.push(observed);
    return observed.store;
  });
  const { observe } = assertPresent(opened[0]);
  return { ...rig, observe };
}

function sentMessage(store: Store, chat: TestSession, runId: RunId): SentMessage {
  const isEnd = (state: unknown) => [...terminalStates].some((terminal) => terminal === state);
  return {
    chat,
    runId,
    run: async () => assertPresent(await store.reads.run(chat.owner, runId)),
    transcript: async () => transcriptLines(await chat.entries()),
    terminalStates: async () =>
      (await chat.events())
        .filter((event) => event.type === "run.state" && event.runId === runId)
        .map(({ data }) => data["state"])
        .filter(isEnd),
  };
}
