import { problem } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { createSlowLane } from "../auth/attempt-throttle.ts";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { createAuthenticator } from "../auth/authenticator.ts";
import { type HttpAppDeps, createHttpApp } from "./http-app.ts";
import type { Route } from "./routing.ts";

const token = "a-token-for-this-test";
const bearer = { authorization: `Bearer ${token}` };

const page = [
  { name: "index.html", type: "text/html; charset=utf-8", body: () => bytes("<!doctype html>") },
  { name: "assets/index-4f2a.js", type: "text/javascript; charset=utf-8", body: () => bytes("1") },
];

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text));
}

const whoami: Route = {
  method: "GET",
  path: "/api/principal",
  policy: "principal",
  handle(c) {
    const { ownerId, by } = c.get("principal");
    return c.json({ principal: { ownerId, by } });
  },
};

function makeApp(deps: Partial<HttpAppDeps> = {}) {
  const bugs: Error[] = [];
  const app = createHttpApp({
    version: "1.2.3",
    page,
    authenticator: createAuthenticator({ token, store: createReferenceStore() }),
    api: [whoami],
    health: async () => ({
      status: "ok",
      ready: true,
      reasons: [],
      roles: [],
      store: { kind: "memory", ready: true },
    }),
    host: "127.0.0.1",
    origin: undefined,
    basePath: "",
    report: (bug) => void bugs.push(bug),
    ...deps,
  });
  return { app, bugs };
}

async function codeOf(answer: Response): Promise<string> {
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  return problem.parse(await answer.json()).code;
}

function login(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body: JSON.stringify(body), headers };
}

test("[safety] wrong guesses of a short token slow the right one down and do not lock it out", async () => {
  const gates: (() => void)[] = [];
  const slowLane = createSlowLane(() => new Promise((resolve) => void gates.push(resolve)));
  const { app } = makeApp({ tokenStrength: "guessable", slowLane });
  const ask = async (authorization: string) =>
    app.request("/api/principal", { headers: { authorization } }, {});
  for (let guess = 0; guess < 5; guess += 1)
    expect((await ask(`Bearer wrong-${guess}`)).status).toBe(401);
  const slow = ["a", "b", "c"].map((guess) => ask(`Bearer wrong-${guess}`));
  const right = ask(bearer.authorization);
  const fifth = await ask("Bearer wrong-d");
  expect([fifth.status, fifth.headers.get("retry-after")]).toEqual([429, "1"]);
  for (const open of gates) open();
  expect((await right).status).toBe(200);
  expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([401, 401, 401]);
});

test("health answers anybody with the version and the store's state", async () => {
  const answer = await makeApp().app.request("/health");
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({
    status: "ok",
    version: "1.2.3",
    ready: true,
    reasons: [],
    roles: [],
    store: { kind: "memory", ready: true },
  });
});

test("a readiness probe gets the status code, and a liveness probe always gets 200", async () => {
  const how = { ready: false, reasons: ["The store does not answer."], roles: [] };
  const store = { kind: "memory", ready: false };
  const { app } = makeApp({ health: async () => ({ status: "degraded", ...how, store }) });
  expect((await app.request("/health")).status).toBe(200);
  const ready = await app.request("/health?ready");
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ reasons: ["The store does not answer."] });
});

test("each response has its own request id, which clients cannot choose", async () => {
  const { app } = makeApp();
  const asked = { headers: { "x-request-id": "mine" } };
  const names = [await app.request("/health", asked), await app.request("/nothing", asked)].map(
    ({ headers }) => headers.get("x-request-id"),
  );
  expect(new Set(names).size).toBe(2);
  expect(names).not.toContain("mine");
  const refused = await app.request("/api/x", asked);
  const { instance } = problem.parse(await refused.json());
  expect(instance).toBe(refused.headers.get("x-request-id"));
});

test("only health, login and the page answer anonymous requests", async () => {
  const { app } = makeApp();
  const answers = app.routes
    .filter(({ method }) => method !== "ALL")
    .map(async ({ method, path }) => {
      const { status } = await app.request(path.replaceAll(/:\w+/g, "x"), { method });
      return { route: `${method} ${path}`, status };
    });
  const open = (await Promise.all(answers)).filter(({ status }) => status !== 401);
  expect(open).toEqual([
    { route: "GET /health", status: 200 },
    { route: "POST /api/login", status: 400 },
    { route: "GET /", status: 200 },
    { route: "GET /assets/index-4f2a.js", status: 200 },
  ]);
  expect(answers.length).toBeGreaterThan(open.length);
});

test("a route without a declared policy does not exist, signed in or not", async () => {
  const { app } = makeApp();
  app.get("/stray", (c) => c.text("leaked"));
  app.get("/api/stray", (c) => c.text("leaked"));
  expect((await app.request("/stray")).status).toBe(404);
  expect((await app.request("/stray", { headers: bearer })).status).toBe(404);
  expect((await app.request("/api/stray")).status).toBe(401);
  expect((await app.request("/api/stray", { headers: bearer })).status).toBe(404);
});

test("unknown paths below /api and /v1 are reported to signed-in clients only", async () => {
  const { app } = makeApp();
  for (const path of ["/api", "/api/nothing", "/v1", "/v1/models"]) {
    const anonymous = await app.request(path);
    expect([path, anonymous.status, await codeOf(anonymous)]).toEqual([path, 401, "unauthorized"]);
    const owner = await app.request(path, { headers: bearer });
    expect([path, owner.status, await codeOf(owner)]).toEqual([path, 404, "not_found"]);
  }
});

test("[safety] a code is exchanged for a strict cookie that scripts cannot read", async () => {
  const authenticator = createAuthenticator({ token, store: createReferenceStore() });
  const { app } = makeApp({ authenticator });
  const code = (await authenticator.issueSignInCode()).code;
  const answer = await app.request("/api/login", login({ code }, { host: "127.0.0.1:8787" }));
  expect(answer.status).toBe(204);
  const cookie = answer.headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(
    /^holdfast_8787=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
  );

  const headers = { cookie: cookie.slice(0, cookie.indexOf(";")), host: "127.0.0.1:8787" };
  const principal = await app.request("/api/principal", { headers });
  expect(await principal.json()).toEqual({ principal: { ownerId: "owner", by: "sign-in" } });

  const again = await app.request("/api/login", login({ code }));
  expect([again.status, await codeOf(again)]).toEqual([401, "unauthorized"]);

  expect((await app.request("/api/logout", { method: "POST", headers })).status).toBe(204);
  expect((await app.request("/api/principal", { headers })).status).toBe(401);
});

test("the cookie is secure behind https", async () => {
  const { app } = makeApp({ origin: "https://holdfast.example.org", basePath: "/hold" });
  const answer = await app.request("/hold/api/login", login({ token }));
  expect(answer.headers.get("set-cookie")).toMatch(
    /Path=\/hold\/; HttpOnly; Secure; SameSite=Strict$/,
  );
});

test.each([{}, { code: "" }, { code: "a", token: "b" }, { code: 7 }, [], "text"])(
  "login refuses %j as invalid",
  async (body) => {
    const answer = await makeApp().app.request("/api/login", login(body));
    expect([answer.status, await codeOf(answer)]).toEqual([400, "invalid_request"]);
  },
);

test("login tells malformed JSON from a wrong token", async () => {
  const { app } = makeApp();
  const broken = await app.request("/api/login", { method: "POST", body: "{" });
  expect([broken.status, await codeOf(broken)]).toEqual([400, "malformed_json"]);
  const wrong = await app.request("/api/login", login({ token: "wrong" }));
  expect([wrong.status, await codeOf(wrong)]).toEqual([401, "unauthorized"]);
});

test("GET changes nothing", async () => {
  const { app } = makeApp();
  for (const path of ["/api/login", "/api/logout"]) {
    expect((await app.request(path, { headers: bearer })).status).toBe(404);
  }
});

test.each([
  ["127.0.0.1:8787", "127.0.0.1", 200],
  ["localhost:8787", "127.0.0.1", 200],
  ["[::1]:8787", "127.0.0.1", 200],
  ["LOCALHOST", "127.0.0.1", 200],
  ["box.lan:8787", "box.lan", 200],
  ["192.168.1.7:8787", "0.0.0.0", 200],
  ["holdfast.example.org", "127.0.0.1", 200],
  ["evil.example", "127.0.0.1", 403],
  ["evil.example", "0.0.0.0", 403],
  ["192.168.1.7:8787", "127.0.0.1", 403],
  ["127.0.0.1.evil.example", "127.0.0.1", 403],
  ["localhost.evil.example", "127.0.0.1", 403],
  ["127.0.0.1@evil.example", "127.0.0.1", 403],
  ["", "127.0.0.1", 403],
])("[safety] the host name %j, served on %s, is answered with %i", async (name, host, status) => {
  const { app } = makeApp({ host, origin: "https://holdfast.example.org" });
  for (const path of ["/", "/health"]) {
    expect((await app.request(path, { headers: { host: name } })).status).toBe(status);
  }
});

test.each([
  ["http://127.0.0.1:8787", 204],
  ["https://holdfast.example.org", 204],
  ["http://127.0.0.1:9999", 403],
  ["https://127.0.0.1:8787", 403],
  ["https://evil.example", 403],
  ["null", 403],
  ["", 403],
])("[safety] a write with the origin %j is answered with %i", async (origin, status) => {
  const { app } = makeApp({ origin: "https://holdfast.example.org" });
  const headers = { host: "127.0.0.1:8787", origin };
  expect((await app.request("/api/login", login({ token }, headers))).status).toBe(status);
});

test.each(["POST", "PUT", "PATCH", "DELETE"])(
  "[safety] another site cannot write with %s, even with the token",
  async (method) => {
    const { app } = makeApp();
    const headers = { ...bearer, origin: "https://evil.example" };
    const answer = await app.request("/api/principal", { method, headers });
    expect([answer.status, await codeOf(answer)]).toEqual([403, "forbidden"]);
  },
);

test("[safety] another site cannot read either, with or without the token", async () => {
  const { app } = makeApp();
  const headers = { ...bearer, origin: "https://evil.example" };
  const answer = await app.request("/api/principal", { headers });
  expect([answer.status, await codeOf(answer)]).toEqual([403, "forbidden"]);
  expect(answer.headers.get("access-control-allow-origin")).toBeNull();
});

test("the page is revalidated and its hashed files are cached for good", async () => {
  const { app } = makeApp();
  const index = await app.request("/");
  expect(index.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(index.headers.get("cache-control")).toBe("no-cache");
  const asset = await app.request("/assets/index-4f2a.js");
  expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(await asset.text()).toBe("1");
});

test("[safety] every response forbids foreign script, framing, sniffing and referrers", async () => {
  const { app } = makeApp();
  for (const path of ["/", "/health", "/api/x", "/nothing"]) {
    const { headers } = await app.request(path);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  }
});

test("a base path moves every route, and the bare path redirects to the page", async () => {
  const { app } = makeApp({ basePath: "/hold" });
  const bare = await app.request("/hold");
  expect([bare.status, bare.headers.get("location")]).toEqual([308, "/hold/"]);
  expect((await app.request("/hold/")).status).toBe(200);
  expect((await app.request("/hold/health")).status).toBe(200);
  expect((await app.request("/hold/api/principal")).status).toBe(401);
  expect((await app.request("/hold/api/principal", { headers: bearer })).status).toBe(200);
  expect((await app.request("/health")).status).toBe(404);
});

test("a bug is reported to the host and answered without details", async () => {
  const authenticator = createAuthenticator({ token, store: createReferenceStore() });
  const { app, bugs } = makeApp({
    authenticator: {
      ...authenticator,
      authenticate: () => {
        throw new Error("a detail");
      },
    },
  });
  const answer = await app.request("/api/principal", { headers: bearer });
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain("a detail");
  expect(bugs.map((bug) => bug.message)).toEqual(["a detail"]);
});

test("[safety] a bug in a check refuses the request, and the response has every header", async () => {
  const authenticator = createAuthenticator({ token, store: createReferenceStore() });
  const { app, bugs } = makeApp({
    authenticator: {
      ...authenticator,
      authenticate: () => Promise.reject(new Error("a secret detail")),
    },
  });
  const answer = await app.request("/api/principal", { headers: bearer });
  expect([answer.status, await codeOf(answer)]).toEqual([500, "internal"]);
  expect(answer.headers.get("x-frame-options")).toBe("DENY");
  expect(answer.headers.get("x-request-id")).not.toBeNull();
  expect(bugs.map(({ message }) => message)).toEqual(["a secret detail"]);
});

test("an oversized body is refused unread", async () => {
  const answer = await makeApp().app.request("/api/login", login({ token: "x".repeat(1_100_000) }));
  expect([answer.status, await codeOf(answer)]).toEqual([413, "payload_too_large"]);
});

test.each([
  [10, 200],
  [11, 413],
])(
  "of a body of unknown length and %s bytes, a route takes no more than its limit",
  async (size, status) => {
    const measure: Route = {
      method: "POST",
      path: "/api/measure",
      policy: "principal",
      largestBody: 10,
      handle: async (c) => c.json({ size: (await c.req.arrayBuffer()).byteLength }),
    };
    const body = new Blob(["x".repeat(size)]).stream();
    const request = { method: "POST", body, headers: bearer, duplex: "half" } as RequestInit;
    const answer = await makeApp({ api: [measure] }).app.request("/api/measure", request);
    expect(answer.status).toBe(status);
  },
);
