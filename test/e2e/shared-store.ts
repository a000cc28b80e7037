import { randomUUID } from "node:crypto";
import { writeFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, type SessionState } from "@holdfast/client";
import { type SessionId } from "@holdfast/protocol";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import {
  type HeardRequest,
  openProviderServer,
  refuses,
  type ServerAnswer,
} from "@holdfast/testing/host/providers/provider-server";
import { onTestFinished } from "vitest";
import { followUntil, hasEnded, makeFolder, valueOf } from "./served-host.ts";

export const storeKinds = ["sqlite", "postgres"] as const;

/** The settings of hosts that share an empty store, by default until the test ends. */
export async function shareStore(
  kind: (typeof storeKinds)[number],
  onCleanup: (cleanup: () => void | Promise<void>) => void = onTestFinished,
) {
  if (kind === "sqlite") return { HOLDFAST_STORE: join(makeFolder(onCleanup), "shared.db") };
  const database = await createDatabase();
  onCleanup(async () => database[Symbol.asyncDispose]());
  return { HOLDFAST_STORE: database.url };
}

interface RecordedCommit {
  readonly session: string;
  readonly texts: readonly string[];
}

/** A memory provider in a file of its own, which records what hosts commit to it. */
export function recordMemory(name = "recorder") {
  const folder = makeFolder();
  const [module, record] = [join(folder, "recorder.mjs"), join(folder, "commits")];
  writeFileSync(
    module,
    `import { appendFileSync } from "node:fs";
export const name = ${JSON.stringify(name)};
export const configuration = "one";
export const open = () => ({
  async commit({ session, turns }) {
    const texts = turns.flatMap(({ messages }) =>
      messages.flatMap(({ role, text }) => (role === "user" ? [text] : [])));
    appendFileSync(${JSON.stringify(record)}, JSON.stringify({ session, texts }) + "\\n");
    return { status: "committed" };
  },
  recall: async () => [],
});
`,
  );
  return {
    settings: { HOLDFAST_MEMORY: module },
    /** What was said in the turns of each commit of this session. */
    commitsOf: (session: SessionId): readonly (readonly string[])[] => {
      const lines = existsSync(record) ? readFileSync(record, "utf8").trim().split("\n") : [];
      const commits = lines.map((line) => JSON.parse(line) as RecordedCommit);
      return commits
        .filter((commit) => commit.session === session)
        .map(({ texts }) => texts.map((text) => text.replace(shortAnswer, "")));
    },
  };
}

export async function createSession(client: Client): Promise<SessionId> {
  return valueOf(await client.createSession({ body: {} })).session.id;
}

/** Tells the rehearsal model to answer with a word. */
const shortAnswer = " {words:1}";

/** Sends a message and waits until no run of the session is live. */
export async function turn(client: Client, id: SessionId, said: string): Promise<SessionState> {
  const body = { clientId: randomUUID(), text: said + shortAnswer };
  valueOf(await client.sendMessage({ params: { id }, body }));
  return followUntil(client, id, hasEnded);
}

/** What a request is for, by its instructions. */
export type Purpose = "conversation" | "summary" | "title";

export interface ModelCall {
  readonly purpose: Purpose;
  /** The whole request as JSON. */
  readonly text: string;
}

/** A server of chat completions. By default it answers every request at once. */
export async function serveModel(
  answer: (call: ModelCall, before: number) => ServerAnswer | undefined = () => undefined,
) {
  const calls: ModelCall[] = [];
  const server = await openProviderServer((request) => {
    // It reports nothing about its models.
    if (request.method === "GET") return refuses(404, {});
    const call = { purpose: purposeOf(request), text: JSON.stringify(request.body) };
    const before = calls.filter(({ purpose }) => purpose === call.purpose).length;
    calls.push(call);
    return answer(call, before) ?? { frames: chatFrames([{ text: usualAnswers[call.purpose] }]) };
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return {
    settings: {
      HOLDFAST_OPENAI_BASE_URL: `${server.url}/v1`,
      HOLDFAST_OPENAI_API_KEY: "any",
      HOLDFAST_REVIEW: "off",
    },
    callsFor: (purpose: Purpose) => calls.filter((call) => call.purpose === purpose),
  };
}

export const usualAnswers: Readonly<Record<Purpose, string>> = {
  conversation: "Yes.",
  summary: "They counted herons.",
  title: "Herons",
};

function purposeOf({ body }: HeardRequest): Purpose {
  const text = JSON.stringify(body);
  if (text.includes("You keep the summary of a conversation")) return "summary";
  return text.includes("Name the conversation below") ? "title" : "conversation";
}

/** The same answer, begun only when the gate opens. */
export async function* whenOpen(gate: Promise<void>, text: string): AsyncGenerator<string> {
  await gate;
  yield* chatFrames([{ text }]);
}
