import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createClient } from "@holdfast/client";
import { startHost } from "@holdfast/testing/process/start-process";
import { expect, test, vi } from "vitest";
import { makeFolder, settingsFor, valueOf } from "./served-host.ts";

const lines = 480;

test("a host that is killed in the middle of the first read of MEMORY.md ends with each line once, and the file as it was", async () => {
  const home = join(makeFolder(), "home");
  const folder = join(home, "memory", Buffer.from("owner").toString("hex"));
  mkdirSync(folder, { recursive: true });
  const text = `# Notes\n${Array.from({ length: lines }, (_, each) => `- Note ${each} of the harbour\n`).join("")}`;
  writeFileSync(join(folder, "MEMORY.md"), text);

  async function serve() {
    const host = startHost(["serve"], { env: settingsFor({ HOLDFAST_HOME: home }) });
    const line = await host.line((printed) => printed.startsWith("Holdfast is at "));
    const baseUrl = /^Holdfast is at ([^\s#]+)/.exec(line)?.[1] ?? "";
    const token = readFileSync(join(home, "token"), "utf8").trim();
    return { host, client: createClient({ baseUrl, token }) };
  }

  const first = await serve();
  const database = new DatabaseSync(join(home, "holdfast.db"), { readOnly: true });
  const stored = (): number =>
    Number(
      database.prepare("SELECT count(*) AS n FROM register WHERE key LIKE 'fact/%'").get()?.["n"],
    );
  const reading = first.client.listFacts({ query: { limit: 1 } });
  await vi.waitFor(() => expect(stored()).toBeGreaterThan(0), { timeout: 20_000, interval: 1 });
  await first.host.kill();
  await reading;
  const half = stored();
  expect(half).toBeLessThan(lines);
  database.close();

  const second = await serve();
  const { facts, total } = valueOf(await second.client.listFacts({ query: { limit: 500 } }));
  expect(total).toBe(lines);
  expect(new Set(facts.map((fact) => fact.text)).size).toBe(lines);
  expect(readFileSync(join(folder, "MEMORY.md"), "utf8")).toBe(text);
  const [newest] = facts;
  await second.client.removeFact({ params: { id: newest?.id ?? "" } });
  expect(readFileSync(join(folder, "MEMORY.md"), "utf8")).not.toContain(newest?.text);
  await second.host.kill();
  const third = await serve();
  expect(valueOf(await third.client.listFacts({ query: { limit: 1 } })).total).toBe(lines - 1);
});
