import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";
import { makePdf } from "@holdfast/testing/fixtures/make-pdf";
import { anthropicFrames, chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import { openProviderServer } from "@holdfast/testing/host/providers/provider-server";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import { followUntil, hasEnded, makeFolder, serveWithClient, valueOf } from "./served-host.ts";
import { serveBot, showsText, startFakeBotApi, untilShown } from "./telegram-rig.ts";
import { startOnTerminal } from "./terminal.ts";

beforeEach(requirePage);

const bill = makePdf([["Bill of the ferry"], ["Total: 4711"]]);
const billText = "[page 2 of 2]\\n> Total: 4711";

async function attach(client: Client, bytes: Uint8Array<ArrayBuffer>, mediaType: string) {
  const { blobId, size } = valueOf(await client.putBlob({ body: bytes, mediaType }));
  return { type: "file", blobId, size, mediaType, name: "bill.pdf" } as const;
}

test("[P9] a PDF goes as a file to a model that takes it, its text to another, the same after kill -9", async () => {
  const provider = await openProviderServer(({ path }) => ({
    frames: path.endsWith("/messages")
      ? anthropicFrames([{ text: "Seen." }])
      : chatFrames([{ text: "Read." }]),
  }));
  onTestFinished(() => provider[Symbol.asyncDispose]());
  const settings = {
    HOLDFAST_MODEL: "anthropic/claude-sonnet-5-5",
    HOLDFAST_SMALL_MODEL: "rehearsal",
    HOLDFAST_ANTHROPIC_BASE_URL: `${provider.url}/v1`,
    ANTHROPIC_API_KEY: "key-of-anthropic",
    HOLDFAST_OPENAI_BASE_URL: `${provider.url}/v1`,
    HOLDFAST_OPENAI_API_KEY: "key-of-a-server",
  };
  /** The first message of the conversation as the provider got it last. */
  const lastSent = (path: string) => {
    const { body } = provider.requests.findLast((request) => request.path.endsWith(path)) ?? {};
    const { messages } = body as { messages: { role: string; content: unknown }[] };
    return JSON.stringify(messages.find(({ role }) => role === "user")?.content, (key, value) =>
      key === "cache_control" ? undefined : (value as unknown),
    );
  };
  const say = async (
    client: Client,
    id: SessionId,
    body: Parameters<Client["sendMessage"]>[0]["body"],
  ) => {
    const before = valueOf(await client.readSession({ params: { id } })).seq;
    valueOf(await client.sendMessage({ params: { id }, body }));
    await followUntil(client, id, (state) => hasEnded(state) && state.seq > before);
  };
  const first = await serveWithClient(settings);
  const { session } = valueOf(await first.client.createSession({ body: {} }));
  const { id } = session;
  const attachments = [await attach(first.client, bill, "application/pdf")];
  await say(first.client, id, { clientId: "one", text: "How much?", attachments });
  const asFile = lastSent("/messages");
  expect(asFile).toContain(`"data":"${Buffer.from(bill).toString("base64")}"`);
  expect(asFile).toContain('"title":"bill.pdf"');
  expect(asFile).not.toContain("Total: 4711");
  await first.host.kill();

  const second = await serveWithClient({ ...settings, HOLDFAST_HOME: first.home });
  await say(second.client, id, { clientId: "two", text: "Sure?" });
  expect(lastSent("/messages")).toBe(asFile);
  const model = "openai-compatible/heron";
  valueOf(await second.client.changeSession({ params: { id }, body: { model } }));
  await say(second.client, id, { clientId: "three", text: "And you?" });
  const asText = lastSent("/chat/completions");
  expect(asText).toContain(billText);
  expect(asText).not.toContain(Buffer.from(bill).toString("base64").slice(0, 40));
}, 240_000);

test("a PDF reaches the model from OpenAI's API, from Telegram and from the terminal", async () => {
  const platform = await startFakeBotApi();
  const { address, token, home } = await serveBot(platform);
  const data = `data:application/pdf;base64,${Buffer.from(bill).toString("base64")}`;
  const said = await fetch(new URL("v1/responses", address), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "rehearsal",
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "How much? {echo}" },
            { type: "input_file", filename: "bill.pdf", file_data: data },
          ],
        },
      ],
    }),
  });
  expect(await said.text()).toContain("Total: 4711");

  platform.files.set("file-1", Buffer.from(bill));
  const document = { file_id: "file-1", file_name: "bill.pdf", file_size: bill.byteLength };
  platform.say(7, "", { text: undefined, caption: "How much? {echo}", document });
  await untilShown(platform, showsText("Total: 4711"));

  const folder = realpathSync(makeFolder());
  writeFileSync(join(folder, "bill.pdf"), bill);
  const chat = startOnTerminal(["chat"], { HOLDFAST_HOME: home }, folder);
  await chat.saying(/\[y\/N\]/);
  chat.type("y\r");
  await chat.saying(/›/);
  chat.type("How much is @bill.pdf? {echo}\r");
  await chat.saying(/rehearsal gets the text of PDFs/);
  await chat.saying(/Total: 4711/);
  chat.type("\u0004");
  await chat.exited;
}, 240_000);
