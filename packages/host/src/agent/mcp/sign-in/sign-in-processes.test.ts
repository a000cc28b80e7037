import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock } from "@holdfast/engine";
import { createLiveness, currentHolder } from "@holdfast/store/identity";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { openOAuthServer } from "@holdfast/testing/host/oauth-server";
import { expect, onTestFinished, test } from "vitest";
import { keySettings } from "../../../../test/support/providers/models.ts";
import { openSecrets } from "../../../ops/secrets/secrets.ts";
import { openSignInRows } from "./sign-in-rows.ts";
import { createSignIns } from "./sign-ins.ts";

const main = fileURLToPath(
  new URL("../../../../test/support/mcp/sign-in-main.ts", import.meta.url),
);

/** A home whose host is signed in, and processes that share it. */
async function openHome(options: Parameters<typeof openOAuthServer>[0] = {}) {
  const server = await openOAuthServer(options);
  onTestFinished(() => server.close());
  const home = mkdtempSync(join(tmpdir(), "holdfast-sign-in-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const store = await openSqliteStore({ file: `${home}/holdfast.db` });
  onTestFinished(() => store.close());
  const { rows } = await openSecrets(keySettings(home), store, (error) => {
    throw error;
  });
  const signIns = createSignIns({
    rows: openSignInRows(rows),
    address: () => "http://127.0.0.1:7000/base",
    egressAllow: [server.host],
    store,
    clock: systemClock,
    holder: () => currentHolder("test"),
    liveness: createLiveness(),
  });
  async function signIn(): Promise<void> {
    const begun = await signIns.begin("wiki", server.mcp.url);
    if (begun.status !== "begun") throw new Error(begun.status);
    const finished = await signIns.finish(
      server.allow(begun.link).searchParams,
      () => server.mcp.url,
    );
    expect(finished.status).toBe("signed in");
  }
  async function startProcess(manner = "") {
    const args = [main, home, server.mcp.url, server.host, manner];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const next = async (): Promise<string | undefined> => (await lines.next()).value;
    expect(await next()).toBe("open");
    return {
      child,
      askForToken: () => {
        child.stdin.write("token\n");
        return next();
      },
    };
  }
  const refreshes = () =>
    server.tokenRequests.filter((asked) => asked.get("grant_type") === "refresh_token").length;
  await signIn();
  return { server, signIn, startProcess, refreshes };
}

test("[safety] two processes spend a refresh token once, and both get the token that it brought", async () => {
  const { server, startProcess, refreshes } = await openHome();
  const [here, there] = await Promise.all([startProcess(), startProcess()]);
  const gate = Promise.withResolvers<void>();
  server.holdRefreshes(gate.promise);
  const both = Promise.all([here.askForToken(), there.askForToken()]);
  await expect.poll(refreshes).toBe(1);
  gate.resolve();
  const [one, other] = await both;
  expect(one).toMatch(/^[\w-]{20,}$/);
  expect([other, refreshes()]).toEqual([one, 1]);
});

test("a process killed between the answer and its commit leaves no lease behind, and a new sign-in mends it", async () => {
  const { signIn, startProcess, refreshes } = await openHome();
  const dying = await startProcess("dies");
  const ended = once(dying.child, "exit");
  void dying.askForToken();
  expect((await ended)[1]).toBe("SIGKILL");
  const next = await startProcess();
  // The server has given the new tokens to the dead one, and takes the old one for a theft.
  expect(await next.askForToken()).toBe("none");
  expect(refreshes()).toBeGreaterThan(0);
  await signIn();
  const last = await startProcess();
  expect(await last.askForToken()).toMatch(/^[\w-]{20,}$/);
});

test("where refresh tokens are not replaced, a process killed at that moment costs nothing", async () => {
  const { startProcess, refreshes } = await openHome({ rotation: "never" });
  const dying = await startProcess("dies");
  const ended = once(dying.child, "exit");
  void dying.askForToken();
  await ended;
  const next = await startProcess();
  expect(await next.askForToken()).toMatch(/^[\w-]{20,}$/);
  expect(refreshes()).toBeGreaterThan(0);
});
