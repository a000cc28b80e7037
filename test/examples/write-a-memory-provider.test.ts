import { fileURLToPath } from "node:url";
import type { Client } from "@holdfast/client";
import { createFolder } from "@holdfast/testing/process/folder";
import { expect, test } from "vitest";
import { followUntil, hasEnded, serveWithClient, textIn, valueOf } from "../e2e/served-host.ts";
import { startExample } from "./example.ts";

const provider = fileURLToPath(
  new URL("../../examples/write-a-memory-provider/lines.ts", import.meta.url),
);

test("an engine recalls in one conversation what was said in another", async () => {
  const example = startExample("write-a-memory-provider/main.ts", [], { cwd: createFolder() });
  expect(await example.exited).toEqual({ code: 0, signal: null });
  const [before = "", recalled = ""] = example.stdout().split("Which coffee do I like?");
  expect(before).toContain("I like black coffee.");
  expect(recalled).toContain("> - I like black coffee.");
});

async function answerTo(client: Client, text: string): Promise<string> {
  const { session } = valueOf(await client.createSession({ body: {} }));
  const params = { id: session.id };
  valueOf(await client.sendMessage({ params, body: { clientId: "first", text } }));
  const { entries } = await followUntil(client, session.id, hasEnded);
  return entries
    .flatMap((entry) => (entry.type === "message" && entry.role === "assistant" ? entry : []))
    .map(textIn)
    .join("");
}

test("[P10] after a restart, a host with the same module recalls what was said before", async () => {
  const first = await serveWithClient({ HOLDFAST_MEMORY: provider });
  await answerTo(first.client, "I like black coffee. {words:3}");
  first.host.signal("SIGTERM");
  expect(await first.host.exited).toEqual({ code: 0, signal: null });

  const second = await serveWithClient({ HOLDFAST_MEMORY: provider, HOLDFAST_HOME: first.home });
  expect(await answerTo(second.client, "Which coffee? {echo}")).toContain("I like black coffee.");
  expect(await answerTo(second.client, "Which tea? {echo}")).not.toContain("I like black coffee.");
});
