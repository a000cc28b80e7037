import { type Model, shortHash, type Store } from "@holdfast/engine";
import { laneKey, ownerId } from "@holdfast/protocol";
import { scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { createAgentFactory } from "./agent-factory.ts";
import type { AttachmentReader } from "./models/model-info.ts";

function open() {
  const store: Store = createReferenceStore();
  onTestFinished(() => store.close());
  const readers: AttachmentReader[] = [];
  const learned: string[] = [];
  const models = {
    defaultModel: () => "own",
    fallbacks: () => [],
    learn: async (name: string) => void learned.push(name),
    open(_name: string, readImage?: AttachmentReader): Model {
      if (readImage !== undefined) readers.push(readImage);
      return scriptedModel([]);
    },
  };
  const factory = createAgentFactory({
    store,
    models,
    tools: async () => ({ tools: new Map(), signature: "mcp=0c" }),
    prompt: {
      signature: async ({ session }) => `persona=0a workspace=${shortHash(session)}`,
      text: async ({ session }) => `You work in ${session}.`,
    },
  });
  return { store, factory, readers, learned };
}

const lane = laneKey.parse("telegram:bot:p7:0");

test("an agent is not shared between owners, whose images it would read", async () => {
  const { store, factory } = open();
  const { owner, session } = await openTestSession(store);
  const own = await factory.signature({ owner, session, lane });
  expect(await factory.signature({ owner, session, lane })).toBe(own);
  const another = ownerId.parse("another");
  expect(await factory.signature({ owner: another, session, lane })).not.toBe(own);
});

test("[S1.1] sessions in different workspaces share an agent, and each keeps its own prompt and frame", async () => {
  const { store, factory } = open();
  const a = await openTestSession(store);
  const b = await openTestSession(store, {}, a.owner);
  const [forA, forB] = [a, b].map(({ owner, session }) => ({ owner, session, lane }));
  if (forA === undefined || forB === undefined) throw new Error("There are two sessions.");
  const signature = await factory.signature(forA);
  expect(await factory.signature(forB)).toBe(signature);
  const agent = await factory.build(forA, signature);
  expect(await agent.system(forB)).toBe(`You work in ${b.session}.`);
  // Must match stored frames: any other text would give every session a new frame.
  expect(await agent.frameSignature?.(forB)).toBe(
    `model=${shortHash("own")} owner=${shortHash(a.owner)} persona=0a workspace=${shortHash(b.session)} mcp=0c`,
  );
});

test("what a server says of the model is learned before the run's first step", async () => {
  const { store, factory, learned } = open();
  const { owner, session } = await openTestSession(store, { model: "ollama/big" });
  await factory.signature({ owner, session, lane });
  expect(learned).toEqual(["ollama/big"]);
});

test.each([
  ["image", 4],
  ["pdf", 16],
] as const)(
  "a model gets its owner's files up to the size that providers accept: %s",
  async (kind, megabytes) => {
    const { store, factory, readers } = open();
    const { owner, session } = await openTestSession(store);
    const request = { owner, session, lane };
    await factory.build(request, await factory.signature(request));
    const largest = megabytes * 1024 * 1024;
    const sizes = await Promise.all(
      [largest, largest + 1].map(async (size) => {
        const put = await store.putBlob(owner, new Uint8Array(size), "image/png");
        if (put.status !== "stored") throw new Error(JSON.stringify(put));
        return (await readers[0]?.(put.id, kind))?.byteLength ?? null;
      }),
    );
    expect(sizes).toEqual([largest, null]);
  },
);
