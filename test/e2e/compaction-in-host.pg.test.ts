import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type Client } from "@holdfast/client";
import { laneKey, type SessionId } from "@holdfast/protocol";
import { refuses } from "@holdfast/testing/host/providers/provider-server";
import { describe, expect, test } from "vitest";
import { startHost } from "@holdfast/testing/process/start-process";
import {
  followUntil,
  hasEnded,
  readLog,
  serveWithClient,
  settingsFor,
  textIn,
  valueOf,
} from "./served-host.ts";
import {
  createSession,
  type ModelCall,
  serveModel,
  shareStore,
  storeKinds,
  turn,
  usualAnswers,
  whenOpen,
} from "./shared-store.ts";

const poll = { interval: 50 };
const usualLockMs = 300_000;
const lockMs = 1_200_000;
const long = (text: string) => `${text} ${"word ".repeat(4_500)}`.trim();

const models = JSON.stringify({
  "openai-compatible/narrow": { window: 30_000 },
  "openai-compatible/wide": { window: 400_000 },
});
const settingsOf = (model: "narrow" | "wide") => ({
  HOLDFAST_MODEL: `openai-compatible/${model}`,
  HOLDFAST_MODELS: models,
  HOLDFAST_COMPACTION_LOCK_MS: String(lockMs),
});

const readEpoch = async (client: Client, id: SessionId) =>
  valueOf(await client.readSession({ params: { id } })).session.epoch;

async function compactionsIn(client: Client, id: SessionId): Promise<number> {
  const { seq } = valueOf(await client.readSession({ params: { id } }));
  const events = await readLog(client, id, seq);
  return events.filter(({ type }) => type === "context.compacted").length;
}

const saidIn = async (client: Client, id: SessionId) =>
  valueOf(await client.readSession({ params: { id } })).entries.flatMap((entry) =>
    entry.type === "message" ? [textIn(entry).split(" ")[0]] : [],
  );

type Served = Awaited<ReturnType<typeof serveWithClient>>;

/** S0.13 and S0.14: another host's API and doctor name who is compacting, and until when the lock lasts. */
async function expectHolderShown(holder: Served, other: Served, id: SessionId): Promise<void> {
  const { compactions } = valueOf(await other.client.listCompactions());
  const { pid: itsPid } = holder.host;
  const itself = { host: hostname(), pid: itsPid, thread: 0, agent: "compaction" };
  expect(compactions).toMatchObject([{ sessionId: id, holder: itself }]);
  const [lock] = compactions;
  expect(lock!.holder.nonce).not.toBe("");
  const now = Date.now();
  expect(lock!.expiresAt).toBeGreaterThan(now + usualLockMs);
  expect(lock!.expiresAt).toBeLessThan(now + 2 * lockMs);
  const env = settingsFor({ HOLDFAST_HOME: other.home, HOLDFAST_URL: other.address });
  const doctor = startHost(["doctor"], { env });
  await doctor.exited;
  const { agent, thread, pid, host, nonce } = lock!.holder;
  expect(doctor.stdout()).toContain(
    `${id} by ${agent} in thread ${thread} of process ${pid} on ${host} (${nonce})`,
  );
}

describe.each(storeKinds)("%s", (kind) => {
  test("[S0.12] a host compacts a nearly full context before it calls the model", async () => {
    const model = await serveModel();
    const { client } = await serveWithClient({
      ...(await shareStore(kind)),
      ...model.settings,
      ...settingsOf("narrow"),
    });
    const id = await createSession(client);
    const texts = ["one", "two", "three", "four", "five", "six"];
    for (const text of texts) {
      const { run } = await turn(client, id, long(text));
      expect(run?.state).toBe("completed");
    }
    // Nothing was refused as too long: each step had one call.
    expect(model.callsFor("conversation")).toHaveLength(texts.length);
    expect(await readEpoch(client, id)).toBeGreaterThan(0);
    const last = model.callsFor("conversation").at(-1)?.text;
    expect(last).toContain(usualAnswers.summary);
    expect(last).not.toContain("two word");
    expect(await saidIn(client, id)).toEqual(texts.flatMap((text) => [text, "Yes."]));
  });

  test("[S0.12] a host compacts a context that the provider rejects as too long, and calls it again in the same run", async () => {
    const tooLong = { code: "context_length_exceeded", message: "Too many tokens." };
    const model = await serveModel(({ purpose }, before) =>
      purpose === "conversation" && before === 4 ? refuses(400, { error: tooLong }) : undefined,
    );
    const { client } = await serveWithClient({
      ...(await shareStore(kind)),
      ...model.settings,
      ...settingsOf("wide"),
    });
    const id = await createSession(client);
    for (const text of ["one", "two", "three", "four"]) await turn(client, id, long(text));
    expect(await readEpoch(client, id)).toBe(0);
    const { run } = await turn(client, id, long("five"));
    expect(run?.state).toBe("completed");
    const [refused, repeated, ...others] = model.callsFor("conversation").slice(4);
    expect(others).toEqual([]);
    expect(refused?.text).toContain("two word");
    expect(repeated?.text).toContain(usualAnswers.summary);
    expect(repeated?.text).not.toContain("two word");
    expect(await readEpoch(client, id)).toBe(1);
  });

  /** Fills about half of the narrow model's window. */
  async function fillHalf(client: Client, id: SessionId): Promise<void> {
    await turn(client, id, "hello");
    for (const text of ["one", "two", "three"]) await turn(client, id, long(text));
  }
  const atRest = { HOLDFAST_COMPACT_IDLE_MS: "1000", HOLDFAST_COMPACT_IDLE_PERCENT: "40" };

  test("[S0.12] a host compacts a large idle session, and the next turn begins with the summary", async () => {
    const model = await serveModel();
    const store = await shareStore(kind);
    const settings = { ...store, ...model.settings, ...settingsOf("narrow"), ...atRest };
    const { client } = await serveWithClient(settings);
    const id = await createSession(client);
    await fillHalf(client, id);
    expect(model.callsFor("conversation").at(-1)?.text).toContain("one word");
    await expect.poll(() => readEpoch(client, id), poll).toBe(1);
    await turn(client, id, "and now");
    const last = model.callsFor("conversation").at(-1)?.text;
    expect(last).toContain(usualAnswers.summary);
    expect(last).not.toContain("one word");
  });

  test("[S0.12] a host compacts a large session that a killed host left", async () => {
    const model = await serveModel();
    const store = await shareStore(kind);
    const settings = { ...store, ...model.settings, ...settingsOf("narrow"), ...atRest };
    const first = await serveWithClient({ ...settings, HOLDFAST_COMPACT_IDLE_MS: "0" });
    const id = await createSession(first.client);
    await fillHalf(first.client, id);
    await first.host.kill();
    expect(model.callsFor("summary")).toEqual([]);
    const { client } = await serveWithClient(settings);
    await expect.poll(() => readEpoch(client, id), poll).toBe(1);
    expect(model.callsFor("summary").length).toBeGreaterThan(0);
  });

  /** Two hosts with a home each, as on two machines. */
  async function serveTwo(model: Awaited<ReturnType<typeof serveModel>>) {
    const store = await shareStore(kind);
    const settings = { ...store, ...model.settings, ...settingsOf("narrow") };
    return [await serveWithClient(settings), await serveWithClient(settings)] as const;
  }

  test("[S0.11] [S0.12] [S0.13] [S0.14] of two hosts that try to compact one session, one does, and the other's turns work during and after it", async () => {
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const model = await serveModel(({ purpose }) =>
      purpose === "summary" ? { frames: whenOpen(mayEnd, usualAnswers.summary) } : undefined,
    );
    const [first, second] = await serveTwo(model);
    const id = await createSession(first.client);
    const texts = ["one", "two", "three", "four"];
    for (const text of texts) await turn(first.client, id, long(text));
    const compact = ({ client }: typeof first) => client.compact({ params: { id }, body: {} });
    expect(valueOf(await compact(first)).outcome).toBe("started");
    await expect.poll(() => model.callsFor("summary").length, poll).toBe(1);
    expect(valueOf(await compact(second)).outcome).toBe("deferred");
    await expectHolderShown(first, second, id);
    // Its context is nearly full, and the lock is held.
    for (const text of ["five", "six"]) {
      const { run } = await turn(second.client, id, long(text));
      expect(run?.state).toBe("completed");
    }
    expect([await readEpoch(second.client, id), model.callsFor("summary").length]).toEqual([0, 1]);
    end();
    await expect.poll(() => readEpoch(second.client, id), poll).toBe(1);
    expect(await compactionsIn(second.client, id)).toBe(1);
    const { run } = await turn(second.client, id, "seven");
    expect(run?.state).toBe("completed");
    const last = model.callsFor("conversation").at(-1)?.text;
    expect(last).toContain(usualAnswers.summary);
    expect(last).toContain("six word");
    const all = [...texts, "five", "six", "seven"].flatMap((text) => [text, "Yes."]);
    expect(await saidIn(second.client, id)).toEqual(all);
  });

  test("[S1.13] two lanes on one session, each on a host of its own, take turns one after the other", async () => {
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const isFirst = ({ purpose, text }: ModelCall) =>
      purpose === "conversation" && text.includes("from the first lane");
    const model = await serveModel((call) =>
      isFirst(call) && !call.text.includes("from the second lane")
        ? { frames: whenOpen(mayEnd, "First.") }
        : undefined,
    );
    const [first, second] = await serveTwo(model);
    const id = await createSession(first.client);
    const send = ({ client }: typeof first, lane: string) => {
      const body = { clientId: randomUUID(), text: `from the ${lane} lane` };
      return client.sendMessage({
        params: { id },
        body: { ...body, lane: laneKey.parse(`desk:${lane}`) },
      });
    };
    valueOf(await send(first, "first"));
    await expect.poll(() => model.callsFor("conversation").length, poll).toBe(1);
    valueOf(await send(second, "second"));
    // The second host was notified of the message before it worked on this one.
    const other = await createSession(second.client);
    await turn(second.client, other, "elsewhere");
    const ofSession = () =>
      model.callsFor("conversation").filter(({ text }) => !text.includes("elsewhere"));
    expect(ofSession()).toHaveLength(1);
    expect(await saidIn(second.client, id)).toEqual(["from"]);
    end();
    const { entries } = await followUntil(
      second.client,
      id,
      (state) => hasEnded(state) && state.entries.length > 3,
    );
    const texts = entries.flatMap((entry) => (entry.type === "message" ? [textIn(entry)] : []));
    expect(texts).toEqual([
      "from the first lane",
      "First.",
      "from the second lane",
      usualAnswers.conversation,
    ]);
    expect(ofSession()).toHaveLength(2);
  });
});
