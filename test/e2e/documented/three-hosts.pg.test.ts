import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createClient } from "@holdfast/client";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { findFreePort } from "@holdfast/testing/process/free-port";
import { hostScript } from "@holdfast/testing/process/start-process";
import { expect, test } from "vitest";
import {
  followUntil,
  hasEnded,
  makeFolder,
  settingsFor,
  settledText,
  valueOf,
} from "../served-host.ts";
import { blockWith, openShell, repository, runLines } from "./documentation.ts";
import { startRoundRobinProxy } from "./round-robin-proxy.ts";

const operations = "docs/operations.md";

test("three hosts come up from docs/operations.md as printed, and are one host to people behind the proxy", async () => {
  await using database = await createDatabase();
  const folder = makeFolder();
  const ports = [await findFreePort(), await findFreePort(), await findFreePort()].map(String);

  // The addresses of the documented machines; only these are others here.
  const printedHosts = /HOLDFAST_HOSTS="([^"]+)"/.exec(blockWith(operations, "caddy run"))?.[1];
  const hosts = (printedHosts ?? "").split(" ").map((_, index) => `127.0.0.1:${ports[index]}`);
  expect(hosts).toHaveLength(3);
  await using proxy = await startRoundRobinProxy(hosts);
  const withPort = (lines: string): string =>
    lines
      .replace("postgres://holdfast:PASSWORD@10.0.0.5/holdfast", database.url)
      .replace("https://holdfast.example.org", proxy.address)
      .replace("HOLDFAST_HOST=0.0.0.0", "HOLDFAST_HOST=127.0.0.1")
      .replace("HOLDFAST_PROXIES=10.0.0.1", "HOLDFAST_PROXIES=127.0.0.1")
      .replaceAll("./holdfast.env", join(folder, "holdfast.env"))
      // What it installs and builds is there.
      .replace("npm start", "holdfast serve")
      .replace("npx holdfast", "holdfast");
  const programs = join(folder, "programs");
  mkdirSync(programs);
  writeFileSync(
    join(programs, "holdfast"),
    `#!/bin/sh\nexec "${process.execPath}" "${resolve(repository, hostScript())}" "$@"\n`,
    { mode: 0o755 },
  );
  const machine = (name: string, port: string) => {
    const home = join(folder, name);
    mkdirSync(home);
    const env = {
      ...settingsFor({ HOLDFAST_PORT: port }),
      HOLDFAST_HOME: undefined,
      HOME: home,
      PATH: `${programs}:${process.env["PATH"]}`,
    };
    const address = `http://127.0.0.1:${port}`;
    const withAddress = (lines: string): string =>
      withPort(lines).replace("http://10.0.0.11:8787", address);
    return { env, folder: home, address: `${address}/`, token: "", withPort: withAddress };
  };
  const machines = ports.map((port, index) => machine(`machine-${index + 1}`, port));
  const [first] = machines;

  await runLines(first!, blockWith(operations, "cat > holdfast.env"), folder);
  expect(statSync(join(folder, "holdfast.env")).mode & 0o777).toBe(0o600);
  const shells = machines.map((each) => openShell(each));
  for (const shell of shells) shell.paste(blockWith(operations, "set +a\nnpm start"));
  for (const shell of shells) await shell.until(/Holdfast is at (\S+)/);
  await expect.poll(() => proxy.ready().length).toBe(3);

  const printed = await runLines(first!, blockWith(operations, "HOLDFAST_URL=$HOLDFAST_ORIGIN"));
  expect(printed).toContain('"status":"ok"');
  const [link = ""] = /http:\S+#\S+/.exec(printed) ?? [];
  expect(link.startsWith(proxy.address)).toBe(true);

  const token =
    /^HOLDFAST_TOKEN=(.+)$/m.exec(readFileSync(join(folder, "holdfast.env"), "utf8"))?.[1] ?? "";
  const client = createClient({ baseUrl: `${proxy.address}/`, token });
  const { session } = valueOf(await client.createSession({ body: {} }));
  const say = async (clientId: string, text: string) =>
    valueOf(await client.sendMessage({ params: { id: session.id }, body: { clientId, text } }));
  await say("first", "{words:5}");
  await followUntil(client, session.id, hasEnded);
  await expect.poll(() => proxy.served.size).toBe(3);

  // One machine is lost: the others go on.
  shells[0]!.interrupt();
  await expect.poll(() => proxy.ready()).toEqual(expect.not.arrayContaining([hosts[0]]));
  await say("second", "{words:7}");
  await followUntil(client, session.id, hasEnded);
  expect((await settledText(client, session.id)).split(/\s+/).length).toBeGreaterThan(9);
}, 240_000);
