import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  admitMessage,
  createLog,
  type Log,
  type NewInput,
  type RunRow,
  type Store,
} from "@holdfast/engine";
import { type OpenSession, openSession, present } from "../fixtures/open-session.ts";
import { told } from "../rigs/run-words.ts";
import { ids, type RunId, terminalStates } from "@holdfast/protocol";

import { type DatabaseKind, openPlace, type TestDatabase } from "./test-database.ts";

/** A message that was accepted, and what has become of it. */
export interface Said {
  readonly chat: OpenSession;
  readonly runId: RunId;
  run(): Promise<RunRow>;
  /** The conversation in short. */
  told(): Promise<readonly string[]>;
  /** The terminal states that its run has reached; one, one hopes. */
  ends(): Promise<readonly unknown[]>;
}

/** A real database, this process's store on it, and a place for what outlives processes. */
export interface RunBed extends AsyncDisposable {
  readonly database: TestDatabase;
  readonly store: Store;
  readonly log: Log;
  /** A file that tools leave their effects in. */
  readonly effects: string;
  say(text: string, rest?: { chat?: OpenSession } & Pick<NewInput, "mode">): Promise<Said>;
  /** Moves the clock of this process's store. */
  pass(ms: number): void;
}

export async function openRunBed(
  { create }: DatabaseKind,
  options: (database: TestDatabase) => { readonly probeModule?: string } = () => ({}),
): Promise<RunBed> {
  const database = await create();
  let passed = 0;
  const clockOffset = () => passed;
  const store = await openPlace(database.place, { clockOffset, ...options(database) });
  const log = createLog(store);
  const folder = mkdtempSync(join(tmpdir(), "holdfast-effects-"));
  const effects = join(folder, "effects");
  writeFileSync(effects, "");
  return {
    database,
    store,
    log,
    effects,
    async say(text, { chat: known, ...rest } = {}) {
      const chat = known ?? (await openSession(store));
      const { owner, session } = chat;
      const input = { owner, session, clientId: ids.make("message"), text, ...rest };
      const answer = await admitMessage(log, ids, input);
      if (answer.status !== "accepted") throw new Error(JSON.stringify(answer));
      return said(store, chat, answer.runId);
    },
    pass: (ms) => void (passed += ms),
    async [Symbol.asyncDispose]() {
      await store.close();
      await database.drop();
      rmSync(folder, { recursive: true });
    },
  };
}

function said(store: Store, chat: OpenSession, runId: RunId): Said {
  const isEnd = (state: unknown) => [...terminalStates].some((each) => each === state);
  return {
    chat,
    runId,
    run: async () => present(await store.reads.run(chat.owner, runId)),
    told: async () => told(await chat.entries()),
    ends: async () =>
      (await chat.events())
        .filter((event) => event.type === "run.state" && event.runId === runId)
        .map(({ data }) => data["state"])
        .filter(isEnd),
  };
}
