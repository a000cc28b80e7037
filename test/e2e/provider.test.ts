import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  anthropicFrames,
  chatFrames,
  type Said,
} from "@holdfast/testing/host/providers/provider-frames";
import {
  openProviderServer,
  type ProviderServer,
} from "@holdfast/testing/host/providers/provider-server";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import {
  followUntil,
  hasEnded,
  serveWithClient,
  textIn,
  valueOf,
  makeFolder,
} from "./served-host.ts";

beforeEach(requirePage);

const key = "key-that-stays-in-the-environment";

/** A provider that calls the terminal once, and then repeats its output. */
async function openProvider(frames: (said: readonly Said[]) => string[]): Promise<ProviderServer> {
  const server = await openProviderServer(({ body }) => {
    const toolOutput = JSON.stringify(body);
    if (toolOutput.includes("Name the conversation"))
      return { frames: frames([{ text: "Herons" }]) };
    if (toolOutput.includes("heron-4711")) return { frames: frames([{ text: "I saw a heron." }]) };
    const input = JSON.stringify({ command: ["echo", "heron-4711"] });
    return {
      frames: frames([{ text: "Let me look." }, { call: "terminal", id: "call_1", input }]),
    };
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

/** Every readable file under a folder. */
function* filesIn(folder: string): Generator<string> {
  for (const item of readdirSync(folder, { withFileTypes: true, recursive: true }))
    if (item.isFile()) yield join(item.parentPath, item.name);
}

test.each([
  [
    "Anthropic",
    (said: readonly Said[]) => anthropicFrames(said),
    (url: string) => ({
      HOLDFAST_ANTHROPIC_BASE_URL: `${url}/v1`,
      ANTHROPIC_API_KEY: key,
    }),
  ],
  [
    "a compatible server",
    (said: readonly Said[]) => chatFrames(said),
    (url: string) => ({
      HOLDFAST_MODEL: "openai-compatible/heron",
      HOLDFAST_OPENAI_BASE_URL: `${url}/v1`,
      HOLDFAST_OPENAI_API_KEY: key,
    }),
  ],
])("with a key of %s set, a message is answered with a tool call", async (_, frames, settings) => {
  const provider = await openProvider(frames);
  const { client, home, host } = await serveWithClient(settings(provider.url));
  const { session } = valueOf(await client.createSession({ body: {} }));
  const params = { id: session.id };
  await client.sendMessage({ params, body: { clientId: "one", text: "What is in the garden?" } });
  await followUntil(client, session.id, ({ run }) => run?.state === "waiting");
  const [approval] = valueOf(await client.listApprovals()).approvals;
  const answer = { params: { id: approval!.approvalId }, body: { decision: "once" as const } };
  valueOf(await client.answerApproval(answer));
  const { run } = await followUntil(client, session.id, hasEnded);
  expect(run?.state).toBe("completed");
  const { entries } = valueOf(await client.readSession({ params }));
  const said = entries.flatMap((entry) =>
    entry.type === "message" && entry.role === "assistant" ? [textIn(entry)] : [],
  );
  expect(said).toEqual(["Let me look.", "I saw a heron."]);
  const calls = provider.requests.filter(({ method }) => method === "POST");
  expect(JSON.stringify(calls[0]?.headers)).toContain(key);
  // The second request contains the tool's output.
  expect(JSON.stringify(calls[1]?.body).match(/heron-4711/g)).toHaveLength(2);

  host.signal("SIGTERM");
  await host.exited;
  for (const file of filesIn(home))
    expect([file, readFileSync(file).includes(key)]).toEqual([file, false]);
  expect(host.stderr() + host.stdout()).not.toContain(key);
});

test("the rehearsal model loads no provider and no tokenizer, and a provider loads only its own", async () => {
  const folder = makeFolder();
  const seen = join(folder, "seen");
  writeFileSync(seen, "");
  const preload = join(folder, "preload.mjs");
  const watched = /(?:@ai-sdk\/[\w-]+|\/ai|gpt-tokenizer)(?=\/(?:dist|esm|cjs)\/)/;
  writeFileSync(
    preload,
    `import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
const watched = ${String(watched)};
registerHooks({
  load(url, context, next) {
    const name = watched.exec(url)?.[0];
    if (name) appendFileSync(${JSON.stringify(seen)}, name + "\\n");
    return next(url, context);
  },
});`,
  );
  const loaded = () =>
    [...new Set(readFileSync(seen, "utf8").split("\n"))].filter((item) => item !== "");
  const NODE_OPTIONS = `--import ${preload}`;
  const talk = async (settings: Record<string, string>) => {
    const { client, host } = await serveWithClient({ NODE_OPTIONS, ...settings });
    const { session } = valueOf(await client.createSession({ body: {} }));
    const params = { id: session.id };
    valueOf(await client.sendMessage({ params, body: { clientId: "one", text: "{words:5}" } }));
    await followUntil(client, session.id, hasEnded);
    host.signal("SIGTERM");
    await host.exited;
  };
  await talk({});
  expect(loaded()).toEqual([]);
  const provider = await openProviderServer(() => ({
    frames: anthropicFrames([{ text: "Yes." }]),
  }));
  onTestFinished(() => provider[Symbol.asyncDispose]());
  await talk({ HOLDFAST_ANTHROPIC_BASE_URL: `${provider.url}/v1`, ANTHROPIC_API_KEY: key });
  expect(loaded()).toContain("@ai-sdk/anthropic");
  expect(loaded()).not.toContain("@ai-sdk/openai");
  expect(loaded()).not.toContain("/ai");
});
