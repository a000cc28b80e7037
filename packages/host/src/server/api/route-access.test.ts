import { type Route as ContractRoute, routes } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { createAuthenticator } from "../auth/authenticator.ts";
import { createHttpApp } from "../http/http-app.ts";
import { fillPath } from "@holdfast/testing/host/fill-path";
import { newSession } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";
import { openServer, statusIn } from "../../../test/support/raw-server.ts";

function open() {
  const rig = openApi();
  onTestFinished(() => rig.close());
  return rig;
}

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"];

/** Different spellings of a path, valid and almost valid. */
function spellingsOf(path: string): string[] {
  const last = path.lastIndexOf("/") + 1;
  const prefix = /^\/[^/]*/.exec(path)?.[0] ?? "";
  return [
    path,
    `${path}/`,
    `/${path}`,
    path.replaceAll("/", "//"),
    path.toUpperCase(),
    path.replace(prefix, `/${prefix.charAt(1).toUpperCase()}${prefix.slice(2)}`),
    path.replace(`${prefix}/`, `${prefix}/./`),
    path.replace(`${prefix}/`, `${prefix}/x/../`),
    path.replace(`${prefix}/`, `${prefix}%2F`),
    path.replace(prefix, `/%${prefix.charCodeAt(1).toString(16)}${prefix.slice(2)}`),
    `${path.slice(0, last)}%${path.charCodeAt(last).toString(16)}${path.slice(last + 1)}`,
    `${path};x=1`,
    `${path}%00`,
    `${path}%20`,
    `${path}?token=a-token-for-this-test`,
    `${path}#x`,
    `/assets/..${path}`,
    `/health/..${path}`,
    `/health%2f..${path}`,
    `/.${path}`,
  ];
}

function withoutParameters(path: string): string {
  return path.replaceAll(/:\w+(\{[^}]*\})?/g, "x");
}

test("[safety] an anonymous client is refused for every method and every spelling of a path", async () => {
  const rig = open();
  await newSession(rig);
  const server = await openServer(rig.app);
  onTestFinished(() => server.close());
  const guarded = Object.values<ContractRoute>(routes).filter(({ access }) => access !== "open");
  const [first] = guarded;
  const asked = [
    // One route by every method, and every route by its own.
    ...methods.map((method) => ({ method, path: first === undefined ? "" : fillPath(first) })),
    ...guarded.map((route) => ({ method: route.method, path: fillPath(route) })),
    ...rig.protocols.flatMap((protocol) =>
      protocol.routes.map(({ method, path }) => ({ method, path: withoutParameters(path) })),
    ),
  ].flatMap(({ method, path }) =>
    spellingsOf(path).map((spelling) => ({ method, path: spelling })),
  );
  const passed: string[] = [];
  for (let from = 0; from < asked.length; from += 40) {
    const answers = asked.slice(from, from + 40).map(async ({ method, path }) => {
      const head = `${method} ${path.replace("#", "%23")} HTTP/1.1\r\nHost: 127.0.0.1\r\n`;
      const status = statusIn(await server.say(`${head}Connection: close\r\n\r\n`));
      if (![400, 401, 403, 404, 405].includes(status)) passed.push(`${method} ${path}: ${status}`);
    });
    await Promise.all(answers);
  }
  expect(passed).toEqual([]);
  expect(asked.length).toBeGreaterThan(500);
});

test("[safety] only health, login and the page answer without a principal, under a base path too", async () => {
  for (const basePath of ["", "/hold"]) {
    const rig = open();
    const app = createHttpApp({
      version: "1",
      page: [{ name: "index.html", type: "text/html", body: () => new Uint8Array() }],
      authenticator: createAuthenticator({ token: "t", store: createReferenceStore() }),
      api: rig.routes,
      protocols: rig.protocols,
      health: async () => ({
        status: "ok",
        ready: true,
        reasons: [],
        roles: [],
        store: { kind: "memory", ready: true },
      }),
      host: "127.0.0.1",
      origin: undefined,
      basePath,
      report: () => undefined,
    });
    const all = app.routes.filter(({ method }) => method !== "ALL");
    const open401 = await Promise.all(
      all.map(async ({ method, path }) => {
        const { status } = await app.request(withoutParameters(path), { method });
        return status === 401 ? [] : [`${method} ${path.slice(basePath.length)}`];
      }),
    );
    const expected = ["GET /health", "POST /api/login", "GET /"];
    if (basePath !== "") expected.push("GET ");
    expect(open401.flat()).toEqual(expected);
    expect(all.length).toBeGreaterThan(40);
  }
});

test("[safety] the host serves exactly the routes that the contract calls open without a principal", () => {
  const rig = open();
  for (const route of rig.routes) {
    const declared = Object.values<ContractRoute>(routes).find(
      ({ method, path }) => method === route.method && path === route.path,
    );
    expect([route.path, declared?.access]).toEqual([route.path, route.policy]);
  }
});

test("[safety] every route of another protocol needs a principal, and below its prefix nothing else answers", async () => {
  const rig = open();
  expect(rig.protocols.map(({ prefix }) => prefix)).toContain("/v1");
  for (const { prefix, routes: served } of rig.protocols) {
    for (const { path, policy } of served)
      expect([path.startsWith(prefix), path, policy]).toEqual([true, path, "principal"]);
    const isServed = (path: string) =>
      served.some((route) => route.method === "GET" && route.path === path);
    for (const path of [prefix, `${prefix}/`, `${prefix}/none/such`]) {
      expect([path, (await rig.app.request(path)).status]).toEqual([path, 401]);
      if (isServed(path)) continue;
      expect([path, (await rig.ask("GET", path)).status]).toEqual([path, 404]);
    }
  }
});

test("[safety] no GET changes anything", async () => {
  const rig = open();
  const id = await newSession(rig);
  const before = await rig.store.reads.session(rig.owner, id);
  for (const route of Object.values<ContractRoute>(routes)) {
    if (route.method === "GET" && route.answer.media === "events") continue;
    const answer = await rig.ask("GET", fillPath(route, { id }));
    await answer.body?.cancel();
  }
  for (const { method, path } of rig.protocols.flatMap(({ routes: served }) => served)) {
    if (method !== "GET") continue;
    const answer = await rig.ask("GET", withoutParameters(path));
    await answer.body?.cancel();
  }
  expect(await rig.store.reads.session(rig.owner, id)).toEqual(before);
  expect((await rig.store.reads.sessions(rig.owner, { limit: 10 })).sessions).toHaveLength(1);
});
