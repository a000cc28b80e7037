import { findFreePort } from "@holdfast/testing/process/free-port";
import OpenAI, { APIError } from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@holdfast/client";
import type { RunId, Seq, SessionId } from "@holdfast/protocol";
import type { Browser } from "playwright-core";
import { openEditor } from "./acp/editor.ts";
import { asId, serveProject } from "./acp/project.ts";
import { createChatApp } from "./ai-sdk/chat-app.ts";
import { connectTasks, overHttp, type RunAnswer } from "./mcp-client.ts";
import { countWords, readLog, serveWithClient, settledText, valueOf } from "./served-host.ts";
import { shareStore, storeKinds } from "./shared-store.ts";

const app = createChatApp();
const command = JSON.stringify({ command: "echo run >> effects; cat effects" });
const prompt = `{rate:12} {words:50} {tool:terminal ${command}} {words:50}`;

/** The ids of OpenAI's responses contain the run and where its message was accepted. */
const responseIdOf = (runId: RunId, accepted: Seq): string =>
  `resp_${runId.slice("run_".length)}${accepted.toString(36)}`;

/** Reads a response to its end: after each lost connection from the last event that it has. */
async function followResponse(openai: OpenAI, id: string): Promise<string> {
  let text = "";
  let cursor = 0;
  for (;;) {
    try {
      const events = await openai.responses.retrieve(id, { stream: true, starting_after: cursor });
      for await (const event of events) {
        cursor = event.sequence_number;
        if (event.type === "response.output_text.delta") text += event.delta;
        if (event.type === "response.completed") return text;
      }
    } catch (error) {
      if (!isCut(error)) throw error;
    }
  }
}

/** The host is away, or took the connection with it. */
function isCut(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof APIError && error.status === undefined);
}

interface Task {
  readonly status: string;
  readonly result?: { readonly structuredContent: RunAnswer };
}

async function approveOnThePage(browser: Browser, address: string, token: string, id: string) {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  await context.request.post(new URL("api/login", address).href, {
    data: { token },
    headers: { origin: new URL(address).origin },
  });
  const page = await context.newPage();
  await page.goto(new URL(`?session=${id}`, address).href);
  const card = page.getByRole("region", { name: "Run this command?" });
  await card.getByRole("button", { name: "Allow once" }).click();
}

async function hasToolEnded(client: Client, id: SessionId): Promise<boolean> {
  const { seq } = valueOf(await client.readSession({ params: { id } }));
  return (await readLog(client, id, seq)).some(({ type }) => type === "tool.ended");
}

/** What a page shows of the answers so far. */
async function shownText(client: Client, id: SessionId): Promise<string> {
  const { live } = valueOf(await client.readSession({ params: { id } }));
  const parts = live?.messages.flatMap((message) => message.parts) ?? [];
  return (await settledText(client, id)) + parts.map(({ text }) => text).join("");
}

describe.each(storeKinds)("on %s", (kind) => {
  test("[P5] one run, begun in an editor and approved on the page, shows an OpenAI client, useChat and an MCP task the same text once, through two kill -9", async () => {
    const settings = {
      HOLDFAST_PORT: String(await findFreePort()),
      // Two kills use up the attempts that a run has, so a busy machine must not cost it a third.
      HOLDFAST_LEASE_MS: "15000",
      ...(await shareStore(kind)),
    };
    const served = await serveProject(settings);
    const { address, token, home, client } = served;
    const again = { ...settings, HOLDFAST_HOME: home };

    const editor = await openEditor({ settings: again });
    const { sessionId } = await editor.newSession(served.project);
    const id = asId(sessionId);
    const prompted = editor.prompt(sessionId, prompt);
    await editor.until(() => (countWords(editor.text()) > 3 ? true : undefined));

    const { run, seq } = valueOf(await client.readSession({ params: { id } }));
    const log = await readLog(client, id, seq);
    const accepted = log.find(({ type, runId }) => type === "input.accepted" && runId === run!.id);
    const openai = new OpenAI({ baseURL: new URL("v1", address).href, apiKey: token });
    const followed = followResponse(openai, responseIdOf(run!.id, accepted!.seq));
    const chat = await app.open(sessionId, { address, token });
    await expect.poll(async () => countWords(await chat.answer())).toBeGreaterThan(8);

    await served.host.kill();
    const second = await serveWithClient(again);
    await chat.page.reload();
    await expect
      .poll(async () => valueOf(await second.client.listApprovals()).approvals.length)
      .toBe(1);
    await approveOnThePage(app.browser(), address, token, sessionId);
    // What was said before the first kill may be said again, so only the log tells that the command has run.
    await expect.poll(async () => hasToolEnded(second.client, id)).toBe(true);
    const before = countWords(await shownText(second.client, id));
    await expect
      .poll(async () => countWords(await shownText(second.client, id)))
      .toBeGreaterThan(before + 10);
    await second.host.kill();

    const third = await serveWithClient(again);
    await chat.page.reload();
    const tasks = await connectTasks(overHttp(address, token));
    const poll = async () => {
      const answer = await tasks.ask("tasks/get", { taskId: run!.id });
      return answer.kind === "result" ? (answer.result as unknown as Task) : undefined;
    };
    await expect.poll(async () => (await poll())?.status).toBe("completed");
    expect(await prompted).toMatchObject({ stopReason: "end_turn" });
    await expect.poll(chat.status).toBe("ready");

    const text = await settledText(third.client, id);
    expect(countWords(text)).toBeGreaterThan(100);
    expect({
      editor: editor.text(),
      openai: await followed,
      useChat: await chat.answer(),
      mcp: (await poll())?.result?.structuredContent.text,
    }).toEqual({ editor: text, openai: text, useChat: text, mcp: text });
    expect(readFileSync(join(served.project, "effects"), "utf8")).toBe("run\n");
  });
});
