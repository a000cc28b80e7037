import { expect, test } from "vitest";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { createAuthenticator } from "../auth/authenticator.ts";
import { createHttpApp } from "./http-app.ts";

const token = "a-token-for-this-test";
const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const app = createHttpApp({
  version: "1",
  page: [
    { name: "index.html", type: "text/html", body: () => bytes("page") },
    { name: "frame.html", type: "text/html", body: () => bytes("frame") },
    { name: "assets/frame-4f2a.js", type: "text/javascript", body: () => bytes("1") },
  ],
  authenticator: createAuthenticator({ token, store: createReferenceStore() }),
  api: [],
  health: async () => {
    throw new Error("Nobody asks.");
  },
  host: "127.0.0.1",
  origin: undefined,
  basePath: "/hold",
  report: () => undefined,
});

test("[safety] a document without an origin can load the page's hashed files and nothing else", async () => {
  const headers = { authorization: `Bearer ${token}`, origin: "null" };
  const asset = await app.request("/hold/assets/frame-4f2a.js", { headers });
  expect([asset.status, asset.headers.get("access-control-allow-origin")]).toEqual([200, "null"]);
  for (const path of ["/", "/frame.html", "/health", "/api/principal", "/assets/nothing.js"]) {
    const answer = await app.request(`/hold${path}`, { headers });
    expect([path, answer.status]).toEqual([path, 403]);
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  }
  const posted = await app.request("/hold/assets/frame-4f2a.js", { method: "POST", headers });
  expect(posted.status).toBe(403);
});

test("[safety] the drawing frame has no origin, no network and can be embedded by the page only", async () => {
  const { headers } = await app.request("/hold/frame.html");
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none'; script-src 'self';/);
  expect(policy).toMatch(/; frame-ancestors 'self'; sandbox allow-scripts$/);
  expect(policy).not.toMatch(/connect-src|img-src|allow-same-origin/);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
});
