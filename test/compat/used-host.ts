import { createHmac } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Client } from "@holdfast/client";
import { ids, type SessionId } from "@holdfast/protocol";
import { vi } from "vitest";

import type { OnCleanup } from "@holdfast/testing/process/start-process";
import { botToken, FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import { followUntil, hasEnded, serveWithClient, valueOf } from "../e2e/served-host.ts";
import { makeFolder } from "../e2e/served-host.ts";
import { fileFacts } from "./files.ts";
import { openStream } from "./frames.ts";
import { openReceiver } from "./receiver.ts";

const secret = "a-secret-that-only-tests-know";
export const persona = "You answer in rhymes about herons.";
const slow = { timeout: 40_000, interval: 50 };

/** Starts a fully configured host, uses most features once, stops it and returns what was observed. */
export async function observeHost(onCleanup: OnCleanup) {
  const receiver = await openReceiver();
  onCleanup(() => receiver.close());
  const platform = new FakeBotApi();
  await platform.start();
  onCleanup(() => platform.stop());
  const folder = makeFolder(onCleanup);
  const home = join(folder, "home");
  const variables = join(folder, "variables");
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "persona.md"), persona);
  const { address, client, host, token } = await serveWithClient(
    {
      HOLDFAST_HOME: home,
      HOLDFAST_MODEL: "rehearsal",
      HOLDFAST_OLLAMA_BASE_URL: `${receiver.address}/missing`,
      HOLDFAST_PROCESS_REPORTS: "notice",
      HOLDFAST_NOTIFY_URL: `${receiver.address}/notified`,
      HOLDFAST_NOTIFY_SECRET: secret,
      HOLDFAST_TELEGRAM_TOKEN: botToken,
      HOLDFAST_TELEGRAM_API_ROOT: platform.address,
      HOLDFAST_TELEGRAM_WEBHOOK: "https://holdfast.example.org",
      HOLDFAST_TELEGRAM_WEBHOOK_SECRET: secret,
      HOLDFAST_WEBHOOKS: JSON.stringify({
        ci: { secret, url: `${receiver.address}/answered`, network: "private" },
      }),
      NODE_OPTIONS: `--import=${new URL("./note-environment.mjs", import.meta.url).href}`,
      SURFACE_VARIABLES: variables,
    },
    onCleanup,
  );

  const session = await talk(client, home);
  await sayByWebhook(address);
  await signIn(address, token);
  await leaveWaiting(client);
  const posted = {
    "notification run_failed": await receiver.first("/notified", "run_failed"),
    "notification approval_waiting": await receiver.first("/notified", "approval_waiting"),
    "answer message": await receiver.first("/answered", "message"),
  };
  const openAt = (path: string) => openStream(new URL(path, address), token);
  const streams = {
    one: await openAt(`api/sessions/${session}/events`),
    oneAhead: await openAt(`api/sessions/${session}/events?after=99999`),
    many: await openAt(`api/events?watch=${session}:0`),
    manyAhead: await openAt(`api/events?watch=${session}:99999`),
  };
  await Promise.all(
    [streams.oneAhead, streams.manyAhead].map((stream) => stream.until("event: resync")),
  );
  valueOf(await client.changeSession({ params: { id: session }, body: { pinned: true } }));
  await Promise.all(Object.values(streams).map((stream) => stream.until("event: session.changed")));
  await Promise.all([streams.many, streams.manyAhead].map((stream) => stream.until("event: list")));
  const get = (path: string) =>
    fetch(new URL(path, address), { headers: { authorization: `Bearer ${token}` } });
  const seen = {
    metrics: await (await get("metrics")).text(),
    health: (await (await get("health")).json()) as unknown,
    document: (await (await get(`api/sessions/${session}/export?format=json`)).json()) as unknown,
    frame: await readFrame(client, session),
    running: fileFacts(home).filter((file) => file.startsWith("running/")),
  };

  host.signal("SIGTERM");
  const { code } = await host.exited;
  if (code !== 0) throw new Error(host.stderr());
  return {
    ...seen,
    home,
    posted,
    /** The text of event streams until the host stopped. */
    streams: {
      "one session": (await streams.one.whole()) + (await streams.oneAhead.whole()),
      "many sessions": (await streams.many.whole()) + (await streams.manyAhead.whole()),
    },
    /** Calls to the Telegram API. */
    botCalls: platform.calls,
    /** Names of the environment variables that the process read. */
    variables: readFileSync(variables, "utf8").trim().split("\n"),
  };
}

export type ObservedHost = Awaited<ReturnType<typeof observeHost>>;

async function talk(client: Client, home: string): Promise<SessionId> {
  const { session } = valueOf(await client.createSession({ body: { title: "Herons" } }));
  const params = { id: session.id };
  const bytes = new TextEncoder().encode("Herons stand still.");
  const { blobId } = valueOf(await client.putBlob({ body: bytes, mediaType: "text/plain" }));
  const about = { mediaType: "text/plain", name: "note.txt", size: bytes.length };
  await say(client, session.id, "I live in Kiel. {words:2}");
  // The attachment taints the context: this fact waits for a yes.
  await say(client, session.id, "My name is Ada. {think:3} {words:5}", [
    { type: "file", blobId, ...about },
  ]);
  writeFileSync(join(home, "workspaces", session.id, "AGENTS.md"), "Speak softly.");
  const { instructions } = valueOf(await client.readWorkspace({ params }));
  const hash = instructions?.hash ?? "";
  valueOf(await client.trustWorkspace({ params, body: { hash, decision: "trusted" } }));
  const calls = [
    `terminal ${JSON.stringify({ command: ["echo", "heron"] })}`,
    `remember ${JSON.stringify({ text: "Ada likes herons.", about: "person" })}`,
    `terminal ${JSON.stringify({ command: ["true"], background: true, seconds: 20 })}`,
  ];
  for (const call of calls) await say(client, session.id, `{tool:${call}}`);
  await say(client, session.id, "{fail:401}");
  // Another model evicts the session's agent.
  valueOf(await client.changeSession({ params, body: { model: "ollama/none" } }));
  await say(client, session.id, "Hello?");
  valueOf(await client.changeSession({ params, body: { model: "rehearsal" } }));
  const provider = { params: { provider: "openai" as const } };
  valueOf(await client.putSecret({ ...provider, body: { key: "a-key-of-nobody" } }));
  valueOf(await client.setPassword({ body: { password: "correct horse battery" } }));
  await vi.waitUntil(
    async () =>
      valueOf(await client.listProcesses({ params })).processes.every(
        ({ state }) => state === "ended",
      ),
    slow,
  );
  // The search index is written in the background.
  await vi.waitUntil(
    async () => valueOf(await client.search({ query: { q: "Ada" } })).hits.length > 0,
    slow,
  );
  valueOf(await client.backup());
  return session.id;
}

type Attachments = NonNullable<Parameters<Client["sendMessage"]>[0]["body"]["attachments"]>;

/** Sends a message, approves what it asks for and waits for the end of the run. */
async function say(client: Client, id: SessionId, text: string, attachments: Attachments = []) {
  const body = { clientId: ids.make("message"), text, attachments };
  valueOf(await client.sendMessage({ params: { id }, body }));
  const rested = await followUntil(
    client,
    id,
    (state) => hasEnded(state) || state.run?.state === "waiting",
  );
  if (rested.run?.state !== "waiting") return;
  for (const { approvalId } of valueOf(await client.listApprovals()).approvals) {
    const params = { id: approvalId };
    valueOf(await client.answerApproval({ params, body: { decision: "always" } }));
  }
  await followUntil(client, id, hasEnded);
}

/** A run that waits for an approval. */
async function leaveWaiting(client: Client): Promise<void> {
  const { session } = valueOf(await client.createSession({ body: {} }));
  const text = `{tool:terminal ${JSON.stringify({ command: ["pwd"] })}}`;
  const body = { clientId: ids.make("message"), text };
  valueOf(await client.sendMessage({ params: { id: session.id }, body }));
}

async function sayByWebhook(address: string): Promise<void> {
  const id = "msg-1";
  const body = JSON.stringify({ conversation: "deploys", text: "{words:3}" });
  const at = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", secret).update(`${id}.${at}.${body}`).digest("base64");
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": at,
    "webhook-signature": `v1,${signature}`,
  };
  const url = new URL("api/gateway/webhook/ci", address);
  const answer = await fetch(url, { method: "POST", body, headers });
  if (!answer.ok) throw new Error(await answer.text());
}

async function signIn(address: string, token: string): Promise<void> {
  const { origin } = new URL(address);
  const answer = await fetch(new URL("api/login", address), {
    method: "POST",
    body: JSON.stringify({ token }),
    headers: { "content-type": "application/json", origin },
  });
  if (!answer.ok) throw new Error(await answer.text());
}

/** The system prompt and the tools that were sent to the model. */
async function readFrame(client: Client, id: SessionId) {
  for await (const item of client.follow(id, 0 as never)) {
    if (item.kind !== "event" || item.event.type !== "context.framed") continue;
    const { frame } = item.event.data as { frame: { system: never; tools: never } };
    const [system, tools] = await Promise.all(
      [frame.system, frame.tools].map(async (blob) => {
        const bytes = valueOf(await client.getBlob({ params: { id: blob } }));
        return new TextDecoder().decode(bytes);
      }),
    );
    return { system, tools: JSON.parse(tools ?? "") as unknown };
  }
  throw new Error("The stream ended.");
}
