import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient, type Result } from "@holdfast/client";
import { beforeEach, expect, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import { hostScript, startProcess } from "@holdfast/testing/process/start-process";
import { valueOf, makeFolder, settingsFor } from "./served-host.ts";
import { startOnPipes } from "./terminal.ts";

beforeEach(requirePage);

/** In blocks of 512 bytes, as in `ulimit -f`: room for the tables and a few messages. */
const maxFileBlocks = 1_500;

const refusedThrice = ["store_unwritable", "store_unwritable", "store_unwritable"];

/** Writes until it was refused three times, and returns the codes. */
async function untilRefused(
  write: (name: string) => Promise<Result<unknown>>,
): Promise<readonly string[]> {
  const codes: string[] = [];
  for (let count = 0; count < 400 && codes.length < 3; count += 1) {
    const written = await write(`write-${count}`);
    if (!written.ok && written.error.kind === "problem") codes.push(written.error.code);
  }
  return codes;
}

/** A host with a file size limit, as on a full disk. */
async function serveOnSmallDisk(home: string) {
  const command = `trap '' XFSZ; ulimit -f ${maxFileBlocks}; exec "$@"`;
  const args = ["-c", command, "sh", process.execPath, hostScript(), "serve"];
  const env = settingsFor({ HOLDFAST_HOME: home, HOLDFAST_LOG_LEVEL: "warn" });
  // Without the files it would write outside of its home.
  const host = startProcess(args, {
    command: "sh",
    env: { ...env, NODE_COMPILE_CACHE: undefined },
  });
  const line = await host.line((text) => text.startsWith("Holdfast is at "));
  const address = /^Holdfast is at (\S+)#/.exec(line)?.[1] ?? "";
  const token = readFileSync(join(home, "token"), "utf8").trim();
  return { host, address, client: createClient({ baseUrl: address, token }) };
}

test("a full disk is reported with each write, reads go on, and the host says that it is not ready", async () => {
  const { host, address, client } = await serveOnSmallDisk(join(makeFolder(), "home"));
  const { session } = valueOf(await client.createSession({ body: {} }));
  const say = (clientId: string): Promise<Result<unknown>> =>
    client.sendMessage({
      params: { id: session.id },
      body: { clientId, text: "x".repeat(90_000) },
    });
  const begin = (): Promise<Result<unknown>> => client.createSession({ body: {} });
  // Smaller writes fit for longer.
  for (const write of [say, begin]) expect(await untilRefused(write)).toEqual(refusedThrice);

  const read = valueOf(await client.readSession({ params: { id: session.id } }));
  expect(read.session.id).toBe(session.id);
  const health = await fetch(`${address}health?ready`);
  expect(health.status).toBe(503);
  expect(await health.json()).toMatchObject({
    ready: false,
    store: { code: "store_unwritable" },
    reasons: [expect.stringMatching(/^The store takes no writes: check its disk/)],
  });
  expect((await fetch(`${address}health`)).status).toBe(200);
  await host.saying(/The store takes no writes/);
});

test("a run in progress reports its host's full disk, and a later one is refused at once", async () => {
  const home = join(makeFolder(), "home");
  const { client } = await serveOnSmallDisk(home);
  const begun = startOnPipes(["run", "{rate:5} {words:3000}"], { HOLDFAST_HOME: home });
  begun.endInput();
  await begun.saying(/A holdfast is/);
  const { session } = valueOf(await client.createSession({ body: {} }));
  const params = { id: session.id };
  const title = (): Promise<Result<unknown>> =>
    client.changeSession({ params, body: { title: "x".repeat(190) } });
  const say = (clientId: string): Promise<Result<unknown>> =>
    client.sendMessage({ params, body: { clientId, text: "x".repeat(90_000) } });
  for (const write of [say, title]) expect(await untilRefused(write)).toEqual(refusedThrice);
  await begun.saying(/The store takes no writes: check its disk/);

  const late = startOnPipes(["run", "Hello"], { HOLDFAST_HOME: home });
  late.endInput();
  expect((await late.exited).code).toBe(1);
  expect(late.stderr()).toMatch(/^The store does not accept writes/);
});
