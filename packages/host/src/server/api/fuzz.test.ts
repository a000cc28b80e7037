import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runFsck } from "@holdfast/engine";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import {
  jsonObject,
  newEvent,
  ids,
  ownerId,
  problem,
  problemsOf,
  type Route as ContractRoute,
  routes,
} from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { z } from "zod";

import { type ApiRig, openApi } from "../../../test/support/api-rig.ts";
import { invalidValues, validValues } from "@holdfast/testing/host/from-schema";
import { newSession, valueOf } from "../../../test/support/api-helpers.ts";
import { openServer, statusIn } from "../../../test/support/raw-server.ts";

/**
 * Fewer runs for routes with nothing to vary, and for those that cost a deliberately slow hash. More where a name and a
 * value must fit each other.
 */
function runsOf({ path, params, query, body }: ContractRoute): number {
  if (path === "/api/password") return 4;
  if (path === "/api/settings/:name") return 64;
  return params === undefined && query === undefined && body === undefined ? 2 : 16;
}

const seed = 7;
const secret = "somebody-elses-secret";

/** A request as it goes over the wire. */
interface Sent {
  readonly how: Corruption;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

/** What is corrupted in a request: nothing, one value in one of its four parts, or the text of its body. */
const corruptions = ["nothing", "params", "query", "headers", "body", "text"] as const;
type Corruption = (typeof corruptions)[number];

function requestsTo(
  route: ContractRoute,
  known: readonly string[],
  document: unknown,
): fc.Arbitrary<Sent> {
  const parts = {
    params: partOf(route.params, known),
    query: partOf(route.query, known),
    headers: partOf(route.headers, known),
    body: bodiesOf(route, known, document),
  };
  const sent = corruptions
    .filter((how) => how !== "text" || route.body !== undefined)
    .map((how) =>
      fc
        .record({
          params: parts.params[how === "params" ? "broken" : "fits"],
          query: parts.query[how === "query" ? "broken" : "fits"],
          headers: parts.headers[how === "headers" ? "broken" : "fits"],
          body: parts.body[how === "body" ? "broken" : how === "text" ? "torn" : "fits"],
        })
        .map(({ params, query, headers, body }) => ({
          how,
          path: pathOf(route, params) + queryOf(query),
          headers: headersOf(headers),
          body,
        })),
    );
  return fc.oneof(...sent);
}

function partOf(schema: z.ZodType | undefined, known: readonly string[]) {
  const fits = schema === undefined ? fc.constant({}) : validValues(schema, known);
  return { fits, broken: schema === undefined ? fits : invalidValues(fits) };
}

function bodiesOf(
  { body, method, path }: ContractRoute,
  known: readonly string[],
  document: unknown,
) {
  const none = fc.constant(undefined);
  if (body === undefined) return { fits: none, broken: none, torn: none };
  const bytes = fc.string({ maxLength: 200 });
  if (body === "bytes") return { fits: bytes, broken: bytes, torn: bytes };
  // The contract says little about an imported document, the value of a setting, a server and a time: start from a
  // real export, a value that lists take, a program, and a cron expression in a zone that exists.
  const starts = new Map<string, fc.Arbitrary<unknown>>([
    ["POST /api/import", fc.constant({ format: "json", document })],
    ["PUT /api/settings/:name", fc.oneof(validValues(body, known), fc.constant({ value: [] }))],
    [
      "POST /api/schedules/preview",
      fc.oneof(
        validValues(body, known),
        fc.constant({ times: { cron: "0 8 * * *" }, timeZone: "UTC" }),
      ),
    ],
    ["PUT /api/mcp/:name", fc.oneof(validValues(body, known), fc.constant({ command: "wiki" }))],
  ]);
  const values = starts.get(`${method} ${path}`) ?? validValues(body, known);
  const asJson = (value: unknown): string => JSON.stringify(value) ?? "";
  const ends = fc.constantFrom("", "\u0000", '"', "}", "[", "\\ud800", "ÿ");
  return {
    fits: values.map(asJson),
    broken: invalidValues(values).map(asJson),
    torn: fc
      .tuple(values.map(asJson), fc.nat(), ends)
      .map(([text, at, end]) => text.slice(0, at % (text.length + 1)) + end),
  };
}

const fieldsOf = (value: unknown): readonly [string, unknown][] =>
  typeof value === "object" && value !== null ? Object.entries(value) : [["value", value]];
const asText = (value: unknown): string =>
  typeof value === "string" ? value.toWellFormed() : (JSON.stringify(value) ?? "").slice(0, 2_000);

function pathOf(route: ContractRoute, params: unknown): string {
  const given = new Map(fieldsOf(params));
  return route.path.replaceAll(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(asText(given.get(name) ?? "x").slice(0, 2_000)),
  );
}

function queryOf(query: unknown): string {
  const pairs = fieldsOf(query).map(([name, value]): [string, string] => [name, asText(value)]);
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs.map(short)).toString()}`;
}

const short = ([name, value]: [string, string]): [string, string] => [name, value.slice(0, 2_000)];

/** Keeps what a header can carry; no client could send the rest. */
function headersOf(headers: unknown): Record<string, string> {
  const fields = fieldsOf(headers).map(([name, value]): [string, string] => [
    name,
    asText(value)
      .replaceAll(/[^\x20-\x7e]/g, "?")
      .slice(0, 2_000)
      .trim(),
  ]);
  return Object.fromEntries(fields.filter(([name]) => /^[a-z-]+$/.test(name)));
}

/** A host with a conversation in which a bit of everything has happened, and another owner's session beside it. */
async function openUsedHost(): Promise<{ rig: ApiRig; known: string[]; document: unknown }> {
  const pay = createTool("pay", async () => okResult("paid"), { approval: () => "ask" });
  const home = mkdtempSync(join(tmpdir(), "holdfast-fuzz-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const rig = openApi([says("One."), says("Two."), calls("pay", {})], { tools: [pay], home });
  const { client, log, store } = rig;
  const id = await newSession(rig);
  const params = { id };
  const known: string[] = [id];
  for (const text of ["first", "second", "third"]) {
    const sent = await client.sendMessage({ params, body: { clientId: `c-${text}`, text } });
    const { messageId, runId } = valueOf(sent);
    known.push(messageId, runId, `c-${text}`);
  }
  const approvals = async () => valueOf(await client.listApprovals()).approvals;
  await expect.poll(async () => (await approvals()).length).toBe(1);
  known.push(...(await approvals()).map(({ approvalId }) => approvalId));
  const bytes = new TextEncoder().encode("a file");
  const blob = await client.putBlob({ body: bytes, mediaType: "text/plain" });
  known.push(valueOf(blob).blobId);
  const exported = await rig.ask("GET", `/api/sessions/${id}/export?format=json`);
  const document = jsonObject.parse(await exported.json());

  const stranger = ownerId.parse("somebody-else");
  const other = await log.createSession({ owner: stranger, settings: { title: secret } });
  const noticeId = ids.make("notice");
  const notice = newEvent(ids.make("event"), "notice.added", { noticeId, kind: "x", text: secret });
  await log.commit({ owner: stranger, session: other.session, events: [notice] });
  const theirs = await store.putBlob(stranger, new TextEncoder().encode(secret), "text/plain");
  known.push(other.session, theirs.status === "stored" ? theirs.id : "");
  return { rig, known, document };
}

/** The other owner's rows, to compare before and after. */
async function readForeign({ store }: ApiRig): Promise<unknown> {
  const stranger = ownerId.parse("somebody-else");
  const { sessions } = await store.reads.sessions(stranger, { limit: 10 });
  const events = sessions.map(({ id }) => store.reads.entries(stranger, id, { limit: 100 }));
  return [sessions, await Promise.all(events)];
}

/** With other text in its path, or with dots that every client normalizes, a request may match no route at all. */
function mayMiss(how: Corruption, path: string): boolean {
  return how === "params" || new URL(path, "http://host").pathname !== path.split("?")[0];
}

/** Returns the status and what is wrong with it: every answer must be one the contract names. */
async function checkAnswer(
  route: ContractRoute,
  { how, path }: Sent,
  answer: Response,
): Promise<{ readonly end: string; readonly error: string | null }> {
  if (route.answer.media === "events" && answer.ok) {
    await answer.body?.cancel();
    return { end: "streamed", error: null };
  }
  const text = await answer.text();
  // Whoever runs the host moves all of it elsewhere, also what programs with keys have stored.
  const isWhole = route.path === "/api/export" && !/format=(md|html)/.test(path);
  if (text.includes(secret) && !isWhole) return { end: "told", error: "tells what is another's" };
  if (answer.ok) {
    if (answer.status !== route.answer.status)
      return { end: "done", error: `status ${answer.status}` };
    const fits = route.answer.media !== "json" || route.answer.schema.safeParse(JSON.parse(text));
    const isFit = fits === true || fits.success;
    return { end: "done", error: isFit ? null : `not the answer's schema: ${text}` };
  }
  const { code, status } = problem.parse(JSON.parse(text));
  const isNamed = problemsOf(route).some((each) => each === code);
  const isMeant = isNamed || (code === "not_found" && mayMiss(how, path));
  return { end: code, error: isMeant && status < 500 ? null : `${status} ${code}` };
}

/** These problems are raised before a handler runs. */
const rejectedEarly: ReadonlySet<string> = new Set([
  "invalid_request",
  "malformed_json",
  "unsupported_media_type",
  "not_found",
]);

test("[safety] fuzzed requests are answered per the contract, leak nothing foreign, and leave the store clean", async () => {
  const { rig, known, document } = await openUsedHost();
  onTestFinished(() => rig.close());
  const before = await readForeign(rig);
  const taken = new Set<string>();
  for (const [name, route] of Object.entries<ContractRoute>(routes)) {
    await fc.assert(
      fc.asyncProperty(requestsTo(route, known, document), async (sent) => {
        const { path, headers, body } = sent;
        const type = route.body === "bytes" ? { "content-type": "text/plain" } : {};
        const answer = await rig.ask(route.method, path, body, { ...type, ...headers });
        const { end, error: objection } = await checkAnswer(route, sent, answer);
        if (!rejectedEarly.has(end)) taken.add(name);
        expect([name, objection]).toEqual([name, null]);
      }),
      { numRuns: runsOf(route), seed },
    );
  }
  // Every route must have accepted at least one valid request, or the handlers were never reached.
  expect(Object.keys(routes).filter((name) => !taken.has(name))).toEqual([]);
  expect(await readForeign(rig)).toEqual(before);
  const { exitCode } = await runFsck(rig.store.audit, { now: await rig.store.now() });
  expect([exitCode, rig.bugs]).toEqual([0, []]);
}, 120_000);

test("bytes that are no request leave the host answering", async () => {
  const rig = openApi();
  const server = await openServer(rig.app);
  onTestFinished(async () => {
    await server.close();
    await rig.close();
  });
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 400 }).map((each) => Buffer.from(each));
  const line = fc
    .tuple(fc.constantFrom("GET", "POST", "X"), fc.webPath(), fc.string({ maxLength: 60 }))
    .map(([method, path, more]) =>
      Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n\r\n`),
    );
  await fc.assert(
    fc.asyncProperty(fc.oneof(bytes, line), async (sent) => {
      const status = statusIn(await server.say(sent));
      expect(status === 0 || (status >= 200 && status < 500)).toBe(true);
    }),
    { numRuns: 150, seed },
  );
  const health = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
  expect(statusIn(await server.say(health))).toBe(200);
  expect(rig.bugs).toEqual([]);
});
