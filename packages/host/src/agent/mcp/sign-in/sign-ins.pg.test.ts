import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@holdfast/engine";
import { ids, ownerId } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";
import { databases } from "@holdfast/testing/databases/databases";
import { openOAuthServer, type OAuthManners } from "@holdfast/testing/host/oauth-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { unconfined } from "../../../../test/support/open-confinement.ts";
import { keySettings } from "../../../../test/support/providers/models.ts";
import { openSecrets } from "../../../ops/secrets/secrets.ts";
import { createBoundFetch } from "../http-transport.ts";
import { openMcp } from "../mcp.ts";
import { openSignInRows } from "./sign-in-rows.ts";
import { createSignIns } from "./sign-ins.ts";

const requestTimeoutMs = 2_000;
const address = "http://127.0.0.1:7000/base";

async function openServer(options: Parameters<typeof openOAuthServer>[0] = {}) {
  const server = await openOAuthServer(options);
  onTestFinished(() => server.close());
  return server;
}

type OAuthServer = Awaited<ReturnType<typeof openServer>>;

describe.each(databases)("sign-ins to MCP servers on $name", (factory) => {
  async function openHosts(server: OAuthServer) {
    const database = await factory.create();
    onTestFinished(() => database.drop());
    const home = mkdtempSync(join(tmpdir(), "holdfast-sign-in-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    /** One process of the store: with its own rows, its own connections and its own clock. */
    return async function openHost(own = address) {
      const store = await database.open();
      const { rows } = await openSecrets(keySettings(home), store, (error) => {
        throw error;
      });
      let time = Date.now();
      const signIns = createSignIns({
        rows: openSignInRows(rows),
        address: () => own,
        egressAllow: [server.host],
        requestTimeoutMs,
        store,
        clock: systemClock,
        holder: () => currentHolder("test"),
        liveness: createLiveness(),
        now: () => time,
      });
      const mcp = openMcp({
        servers: { wiki: { url: server.mcp.url } },
        signIns,
        confinement: unconfined,
        environment: {},
        store,
        log: () => undefined,
        times: { backoffMs: 5, maxBackoffMs: 20 },
      });
      mcp.start();
      onTestFinished(() => mcp.stop().then(() => store.close()));
      return {
        store,
        rows,
        signIns,
        mcp,
        begin: () => signIns.begin("wiki", server.mcp.url),
        finish: (back: URL) => signIns.finish(back.searchParams, (name) => mcp.signInUrl(name)),
        token: () => signIns.providerFor("wiki", server.mcp.url).token(),
        state: () => mcp.state("wiki"),
        async call(name: string) {
          const tool = (await mcp.tools()).tools.get(name);
          if (tool === undefined) throw new Error(`There is no ${name}.`);
          const [session, runId, callId] = [ids.make("session"), ids.make("run"), ids.make("call")];
          const asked = { owner: ownerId.parse("owner"), session, runId, callId, input: {} };
          const signal = new AbortController().signal;
          return tool.run(asked, { signal, write: () => undefined });
        },
        wait: (ms: number) => void (time += ms),
        /** Sees what other hosts have stored. */
        async look() {
          await rows.reload();
          signIns.check();
        },
      };
    };
  }

  type Host = Awaited<ReturnType<Awaited<ReturnType<typeof openHosts>>>>;

  async function linkOf(host: Host): Promise<string> {
    const begun = await host.begin();
    if (begun.status !== "begun") throw new Error(JSON.stringify(begun));
    return begun.link;
  }

  async function signIn(host: Host, server: OAuthServer): Promise<void> {
    const back = server.allow(await linkOf(host));
    expect(await host.finish(back)).toEqual({ status: "signed in", name: "wiki" });
    await expect.poll(() => host.state()?.state).toBe("ready");
  }

  test("a server that needs a sign-in is connected by it on every host, until somebody signs out", async () => {
    const server = await openServer();
    const openHost = await openHosts(server);
    const [here, there] = [await openHost(), await openHost()];
    await expect.poll(() => here.state()?.signIn).toBe("needed");
    expect(here.state()?.lastError).toContain("needs a sign-in");
    const link = new URL(await linkOf(here));
    expect(Object.fromEntries(link.searchParams)).toMatchObject({
      client_id: "client-1",
      code_challenge_method: "S256",
      redirect_uri: `${address}/oauth/mcp/callback`,
      resource: server.mcp.url,
      scope: "tools",
    });
    // The browser comes back to another process of the same store.
    expect(await there.finish(server.allow(link.href))).toMatchObject({ status: "signed in" });
    await expect.poll(() => there.state()).toMatchObject({ state: "ready", signIn: "done" });
    await here.look();
    await expect.poll(() => here.state()?.state).toBe("ready");
    expect([...(await here.mcp.tools()).tools.keys()]).toContain("wiki__answer");

    const token = (await here.token()) ?? "";
    expect(here.signIns.secrets()).toContain(token);
    const rows = await here.store.register.list(ownerId.parse("owner"), "", 100);
    for (const hidden of [token, server.origin]) expect(JSON.stringify(rows)).not.toContain(hidden);

    expect(await here.signIns.signOut("wiki")).toBe(true);
    await there.look();
    await expect.poll(() => there.state()?.signIn).toBe("needed");
  });

  test("[safety] a state is good once and for ten minutes, and nothing is taken without it", async () => {
    const server = await openServer();
    const openHost = await openHosts(server);
    const [here, there] = [await openHost(), await openHost()];
    const back = server.allow(await linkOf(here));
    const both = await Promise.all([here.finish(back), there.finish(back)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["signed in", "unknown"]);
    expect(await here.finish(back)).toEqual({ status: "unknown" });
    const without = new URL(back);
    without.searchParams.delete("state");
    expect(await here.finish(without)).toEqual({ status: "unknown" });
    const late = server.allow(await linkOf(here));
    here.wait(10 * 60_000 + 1);
    expect(await here.finish(late)).toEqual({ status: "unknown" });
    const refused = server.allow(await linkOf(here));
    refused.searchParams.delete("code");
    refused.searchParams.set("error", "access_denied");
    expect(await here.finish(refused)).toMatchObject({ status: "failed", name: "wiki" });
    expect(server.tokenRequests).toHaveLength(1);
  });

  test("[safety] two processes spend a refresh token once, and both go on with the new tokens", async () => {
    const server = await openServer();
    const openHost = await openHosts(server);
    const [here, there] = [await openHost(), await openHost()];
    await signIn(here, server);
    await there.look();
    await expect.poll(() => there.state()?.state).toBe("ready");
    const old = await here.token();
    const gate = Promise.withResolvers<void>();
    server.holdRefreshes(gate.promise);
    here.wait(3_600_000);
    there.wait(3_600_000);
    const both = Promise.all([here.token(), here.token(), there.token()]);
    await expect.poll(() => server.tokenRequests.length).toBe(2);
    gate.resolve();
    const [one, same, other] = await both;
    expect([one === old, same, other]).toEqual([false, one, one]);
    expect(server.tokenRequests.map((asked) => asked.get("grant_type"))).toEqual([
      "authorization_code",
      "refresh_token",
    ]);
    // The connections stay, and their next requests have the new token.
    server.expireTokens();
    here.mcp.restart("wiki");
    await expect.poll(() => here.state()?.state).toBe("ready");
  });

  test("a late 401 for a request without the current token spends no refresh token", async () => {
    const server = await openServer();
    const here = await (await openHosts(server))();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const fetchFn = createBoundFetch(server.mcp.origin);
    const response = await fetchFn(server.mcp.url, { method: "POST", body });
    expect(response.status).toBe(401);
    await signIn(here, server);
    const provider = here.signIns.providerFor("wiki", server.mcp.url);
    const token = await provider.token();
    const serverUrl = new URL(server.mcp.url);
    await provider.onUnauthorized?.({ response, serverUrl, fetchFn });
    expect([await provider.token(), server.tokenRequests.length]).toEqual([token, 1]);
  });

  test("an answer without a new refresh token keeps the old one", async () => {
    const server = await openServer({ rotation: "never" });
    const here = await (await openHosts(server))();
    await signIn(here, server);
    for (const round of [1, 2]) {
      const old = await here.token();
      here.wait(3_600_000);
      expect([round, (await here.token()) === old]).toEqual([round, false]);
    }
    const spent = server.tokenRequests.slice(1).map((asked) => asked.get("refresh_token"));
    expect([spent.length, new Set(spent).size]).toEqual([2, 1]);
    // What was allowed stays known, though the answer does not repeat it.
    await here.signIns.providerFor("wiki", server.mcp.url).needScope({ scope: "tools" });
    expect(here.signIns.state("wiki", server.mcp.url)).toBe("done");
  });

  test("a refresh token that was spent before a crash asks for a new sign-in instead of failing for ever", async () => {
    const server = await openServer();
    const openHost = await openHosts(server);
    const here = await openHost();
    await signIn(here, server);
    const stale = here.rows.read("mcp-sign-in/wiki") ?? "";
    here.wait(3_600_000);
    expect(await here.token()).toBeDefined();
    // As if the process had died between the answer and its commit.
    await here.rows.put("mcp-sign-in/wiki", stale);
    const next = await openHost();
    next.wait(3_600_000);
    next.mcp.restart("wiki");
    await expect.poll(() => next.state()?.signIn).toBe("needed");
    await signIn(next, server);
    expect(server.registered).toEqual(["Holdfast"]);
  });

  test("a server that has forgotten this host is registered at anew by the next sign-in", async () => {
    const server = await openServer({ manners: "forgets clients" });
    const here = await (await openHosts(server))();
    await signIn(here, server);
    here.wait(3_600_000);
    expect(await here.token()).toBeUndefined();
    await linkOf(here);
    expect(server.registered).toEqual(["Holdfast", "Holdfast"]);
  });

  test("[safety] a link in a notice begins a sign-in for a day, and an answer of megabytes ends one", async () => {
    const server = await openServer({ manners: "answers endlessly" });
    const here = await (await openHosts(server))();
    const url = (): string => server.mcp.url;
    const link = (await here.signIns.link("wiki", url())) ?? "";
    const ticket = link.split("/").at(-1) ?? "";
    expect(await here.signIns.findTicket(ticket, url)).toBe("wiki");
    expect(await here.signIns.findTicket("x".repeat(43), url)).toBeNull();
    here.wait(24 * 60 * 60_000 + 1);
    expect(await here.signIns.findTicket(ticket, url)).toBeNull();
    const begun = await here.begin();
    expect(begun.status === "failed" ? begun.message : begun.status).toMatch(
      /larger than|more than/,
    );
  });

  test("[P7] a call that needs a wider permission fails, keeps the tokens, and asks for what is missing", async () => {
    const server = await openServer({ manners: "wants more for calls" });
    const openHost = await openHosts(server);
    const [here, there] = [await openHost(), await openHost()];
    await signIn(here, server);
    const old = await here.token();
    const refused = await here.call("wiki__answer");
    expect(refused.outcome).toBe("failed");
    expect(refused.output).toContain("needs a permission that it does not have (write)");
    expect(server.mcp.calls).toEqual(["answer"]);
    expect([here.state()?.signIn, await here.token()]).toEqual(["needed", old]);
    // The tools stay, for whatever the old permission covers, and other hosts know.
    expect([...(await here.mcp.tools()).tools.keys()]).toContain("wiki__answer");
    await there.look();
    expect(there.state()?.signIn).toBe("needed");
    const link = new URL(await linkOf(there));
    expect(link.searchParams.get("scope")?.split(" ").toSorted()).toEqual(["tools", "write"]);
    expect(await there.finish(server.allow(link.href))).toMatchObject({ status: "signed in" });
    await expect.poll(() => there.state()).toMatchObject({ state: "ready", signIn: "done" });
    expect(await there.call("wiki__answer")).toMatchObject({ outcome: "ok" });
    expect(server.mcp.calls).toEqual(["answer", "answer"]);
  });

  test.each<[OAuthManners, RegExp]>([
    ["lies about its issuer", /issuer/i],
    ["redirects the metadata", /leads to another host/],
    ["never answers", /longer than 2000 ms/],
  ])("[safety] a server that %s begins no sign-in, and says why", async (manners, message) => {
    const server = await openServer({ manners });
    const here = await (await openHosts(server))();
    await expect.poll(() => here.state()?.signIn).toBe("needed");
    const begun = await here.begin();
    expect(begun.status === "failed" ? begun.message : begun.status).toMatch(message);
    expect(server.registered).toEqual([]);
  });

  test.each<[OAuthManners, RegExp]>([
    ["answers as another", /issuer/i],
    ["redirects the token", /not sent elsewhere/],
  ])("[safety] a server that %s gets no tokens stored", async (manners, message) => {
    const server = await openServer({ manners });
    const here = await (await openHosts(server))();
    await expect.poll(() => here.state()?.signIn).toBe("needed");
    const finished = await here.finish(server.allow(await linkOf(here)));
    expect(finished.status === "failed" ? finished.message : finished.status).toMatch(message);
    expect(await here.token()).toBeUndefined();
    expect(server.tokenRequests).toHaveLength(manners === "answers as another" ? 0 : 1);
  });

  test("[safety] a sign-in that leads to a program instead of a page begins nothing", async () => {
    const server = await openServer({ manners: "leads to a program" });
    const here = await (await openHosts(server))();
    await expect.poll(() => here.state()?.signIn).toBe("needed");
    const begun = await here.begin();
    expect(begun.status === "failed" ? begun.message : begun.status).toContain(
      "leads to a vscode: address, which Holdfast does not open",
    );
  });

  test("[safety] an answer in another server's name is not believed, not even that it was refused", async () => {
    const server = await openServer({ manners: "answers as another" });
    const here = await (await openHosts(server))();
    await expect.poll(() => here.state()?.signIn).toBe("needed");
    const back = server.allow(await linkOf(here));
    back.searchParams.delete("code");
    back.searchParams.set("error", "access_denied");
    const finished = await here.finish(back);
    expect(finished.status === "failed" ? finished.message : finished.status).toMatch(/issuer/i);
  });

  test("a server that reads clients' own documents gets the address of this host's, if it is public", async () => {
    const server = await openServer({ manners: "reads client documents" });
    const openHost = await openHosts(server);
    const host = await openHost("https://holdfast.example");
    await expect.poll(() => host.state()?.signIn).toBe("needed");
    const link = new URL(await linkOf(host));
    expect(link.searchParams.get("client_id")).toBe(
      "https://holdfast.example/oauth/mcp/client.json",
    );
    expect(server.registered).toEqual([]);
    expect(await host.finish(server.allow(link.href))).toMatchObject({ status: "signed in" });
    // Nobody could read the document of a host without a public address.
    const local = await openHost();
    expect(new URL(await linkOf(local)).searchParams.get("client_id")).toBe("client-1");
  });

  test("a server that registers nobody takes a client that a person has registered", async () => {
    const server = await openServer({ manners: "registers nobody" });
    const here = await (await openHosts(server))();
    await expect.poll(() => here.state()?.signIn).toBe("needed");
    expect(await here.begin()).toEqual({
      status: "client needed",
      redirectUri: `${address}/oauth/mcp/callback`,
    });
    const begun = await here.signIns.begin("wiki", server.mcp.url, { id: "registered-by-hand" });
    if (begun.status !== "begun") throw new Error(begun.status);
    expect(new URL(begun.link).searchParams.get("client_id")).toBe("registered-by-hand");
    expect(await here.finish(server.allow(begun.link))).toMatchObject({ status: "signed in" });
  });
});
