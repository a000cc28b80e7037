import { runFsck } from "@holdfast/engine";
import { ownerId, problem, type Route as ContractRoute, routes } from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";

import { fillPath, newSession, openApi, openServer, statusIn } from "../testing/index.ts";

const served = Object.entries<ContractRoute>(routes).filter(
  ([, { answer, path }]) => answer.media !== "events" && path !== "/api/fsck",
);

/** A value near to what fits: the example, with a field taken away, put in or turned into something else. */
function near(route: ContractRoute): fc.Arbitrary<unknown> {
  const example = route.example ?? {};
  const field = fc.constantFrom(...Object.keys(example), "surprise", "__proto__", "owner");
  const changed = fc
    .tuple(field, fc.jsonValue({ maxDepth: 3 }))
    .map(([name, value]) => ({ ...example, [name]: value }));
  return fc.oneof(changed, fc.jsonValue({ maxDepth: 4 }), fc.constant(example));
}

test("whatever is sent to whichever route is answered with a code, and the store stays clean", async () => {
  const rig = openApi();
  onTestFinished(() => rig.close());
  const id = await newSession(rig);
  const strangers = ownerId.parse("somebody-else");
  const { session: foreign } = await rig.log.createSession({ owner: strangers });
  const before = await rig.store.reads.session(strangers, foreign);
  const anyId = fc.oneof(
    fc.constantFrom<string>(id, foreign, "..", "%2e%2e", "ses_", "'; DROP TABLE events; --"),
    fc.string({ maxLength: 40 }),
  );
  for (const [name, route] of served) {
    await fc.assert(
      fc.asyncProperty(anyId, near(route), async (given, body) => {
        const params = { id: encodeURIComponent(given), messageId: encodeURIComponent(given) };
        const path = fillPath(route, given === "" ? {} : params);
        const sent = route.body === undefined ? undefined : JSON.stringify(body);
        const answer = await rig.ask(route.method, path, sent);
        const isRefused = answer.status >= 400;
        const code = isRefused ? problem.parse(await answer.json()).code : "done";
        if (!isRefused) await answer.body?.cancel();
        expect([name, code]).not.toEqual([name, "internal"]);
      }),
      { numRuns: 12, seed: 7 },
    );
  }
  expect(await rig.store.reads.session(strangers, foreign)).toEqual(before);
  const { exitCode } = await runFsck(rig.store.audit, { now: await rig.store.now() });
  expect([exitCode, rig.bugs]).toEqual([0, []]);
});

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
    { numRuns: 150, seed: 7 },
  );
  const health = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
  expect(statusIn(await server.say(health))).toBe(200);
  expect(rig.bugs).toEqual([]);
});
