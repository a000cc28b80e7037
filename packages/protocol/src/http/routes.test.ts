import { describe, expect, test } from "vitest";
import { z } from "zod";

import { problemKinds } from "../problems.ts";
import { testId } from "@holdfast/testing/session-logs/write-log";
import { type Route, problemsOf } from "./define.ts";
import { routes } from "./routes.ts";

const all: [string, Route][] = Object.entries(routes);
const id = testId("session", 1);

/** The names in the design, which clients rely on. */
const promised = `
POST /api/sessions
GET /api/sessions
GET /api/sessions/:id
PATCH /api/sessions/:id
DELETE /api/sessions/:id
POST /api/sessions/:id/restore
POST /api/sessions/:id/messages
PATCH /api/sessions/:id/inbox/:messageId
DELETE /api/sessions/:id/inbox/:messageId
GET /api/sessions/:id/events
GET /api/events
POST /api/sessions/:id/undo
POST /api/sessions/:id/redo
POST /api/sessions/:id/retry
POST /api/sessions/:id/truncate
POST /api/sessions/:id/clear
POST /api/sessions/:id/branch
POST /api/sessions/:id/compact
POST /api/sessions/:id/epochs/:n/restore
GET /api/runs/:id
POST /api/runs/:id/cancel
POST /api/runs/:id/resume
GET /api/approvals
POST /api/approvals/:id
POST /api/blobs
GET /api/blobs/:id
GET /api/search
GET /api/sessions/:id/export
POST /api/import
POST /api/login
POST /api/logout
GET /health
GET /metrics
GET /api/openapi.json`;

describe("the table of routes", () => {
  test("contains every promised name, once each", () => {
    const names = all.map(([, { method, path }]) => `${method} ${path}`);
    expect(names).toEqual(expect.arrayContaining(promised.trim().split("\n")));
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(all)("%s has a schema for exactly the parameters of its path", (_, route) => {
    const inPath = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1]);
    const params = route.params instanceof z.ZodObject ? Object.keys(route.params.shape) : [];
    expect(new Set(params)).toStrictEqual(new Set(inPath));
  });

  test.each(all)("%s refuses unknown fields in its parameters, query and body", (_, route) => {
    for (const schema of [route.params, route.query, route.body]) {
      if (schema === undefined || schema === "bytes") continue;
      const refused = schema.safeParse({ surprise: 1 });
      const codes = refused.error?.issues.map((issue) => issue.code) ?? [];
      expect(codes).toContain("unrecognized_keys");
    }
  });

  test.each(all)("%s can be written as JSON Schema, for OpenAPI", (_, route) => {
    const schemas = [route.params, route.query, route.headers, route.body];
    const answer = route.answer.media === "json" ? [route.answer.schema] : [];
    for (const schema of [...schemas, ...answer]) {
      if (schema === undefined || schema === "bytes") continue;
      expect(z.toJSONSchema(schema, { io: "input" })).toHaveProperty("type", "object");
    }
  });

  test("never changes anything by GET, and gives every POST that needs one an Idempotency-Key", () => {
    const posts = all.filter(([, { method }]) => method === "POST");
    const without = posts.filter(([, { headers }]) => {
      return !(headers instanceof z.ZodObject && "idempotency-key" in headers.shape);
    });
    expect(without.map(([name]) => name).toSorted()).toStrictEqual([
      "addProjectFile",
      "createKey",
      "createSignInCode",
      // Changes nothing.
      "estimateAttachments",
      "login",
      "logout",
      // Changes nothing.
      "previewSchedule",
      "putBlob",
      "sayByWebhook",
      "sendMessage",
      "signInToMcpServer",
    ]);
    for (const [, { method, body }] of all)
      expect(method === "GET" && body !== undefined).toBe(false);
  });

  test("leaves only health and login open", () => {
    const open = all.filter(([, { access }]) => access === "open").map(([name]) => name);
    expect(open.toSorted()).toStrictEqual(["health", "login"]);
  });
});

describe("a field in a URL", () => {
  const { query, params } = routes.readSession;

  test("is a typed value on both sides and text in between", () => {
    const value = { before: 12, limit: 50 };
    expect(query.parse({ before: "12", limit: "50" })).toStrictEqual(value);
    expect(z.encode(query, query.parse({ before: "12", limit: "50" }))).toStrictEqual({
      before: "12",
      limit: "50",
    });
    expect(params.parse({ id })).toStrictEqual({ id });
  });

  test("that is not a plain number is refused", () => {
    for (const before of ["", "-1", "1e3", "0x10", "1.5", " 1", "01", "99999999999999999"])
      expect({ before, ok: query.safeParse({ before }).success }).toStrictEqual({
        before,
        ok: false,
      });
    expect(query.safeParse({ limit: "0" }).success).toBe(false);
  });

  test("accepts a revision as an entity tag or bare", () => {
    const { headers } = routes.changeSession;
    expect(headers.parse({ "if-match": '"7"', accept: "*/*" })).toStrictEqual({ "if-match": 7 });
    expect(headers.parse({ "if-match": "7" })).toStrictEqual({ "if-match": 7 });
    expect(z.encode(headers, { "if-match": 7 })).toStrictEqual({ "if-match": '"7"' });
  });
});

test("every problem a route may return is in the table, with an error status", () => {
  for (const [, route] of all) {
    for (const code of problemsOf(route))
      expect(problemKinds[code].status).toBeGreaterThanOrEqual(400);
  }
  expect(problemsOf(routes.undo)).toEqual(
    expect.arrayContaining(["run_live", "head_moved", "idempotency_conflict", "malformed_json"]),
  );
});
