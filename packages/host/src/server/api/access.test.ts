import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { problem } from "@holdfast/protocol";
import { expect, onTestFinished, test, vi } from "vitest";

import { type ApiRigOptions, type ApiRig, openApi } from "../../../test/support/api-rig.ts";
import { newSession, valueOf } from "../../../test/support/api-helpers.ts";

const host = "127.0.0.1:8787";

function open(options: Pick<ApiRigOptions, "clock"> = {}): ApiRig {
  const home = mkdtempSync(join(tmpdir(), "holdfast-access-"));
  const rig = openApi([], { home, ...options });
  onTestFinished(async () => {
    await rig.close();
    rmSync(home, { recursive: true, force: true });
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

async function login(rig: ApiRig, proof: unknown, userAgent = "a test"): Promise<Response> {
  const headers = { host, "content-type": "application/json", "user-agent": userAgent };
  return rig.app.request(
    "/api/login",
    { method: "POST", body: JSON.stringify(proof), headers },
    {},
  );
}

async function cookieOf(rig: ApiRig, proof: unknown): Promise<Record<string, string>> {
  const answer = await login(rig, proof);
  expect(answer.status).toBe(204);
  const cookie = answer.headers.get("set-cookie") ?? "";
  return { host, cookie: cookie.slice(0, cookie.indexOf(";")) };
}

async function askAs(
  rig: ApiRig,
  headers: Record<string, string>,
  method: string,
  path: string,
  body?: unknown,
): Promise<Response> {
  const json = body === undefined ? {} : { "content-type": "application/json" };
  const init = { method, headers: { ...headers, ...json } };
  return rig.app.request(
    path,
    body === undefined ? init : { ...init, body: JSON.stringify(body) },
    {},
  );
}

const codeOf = async (answer: Response): Promise<string> => problem.parse(await answer.json()).code;

test("[safety] revoking a sign-in closes its streams at once, and no others", async () => {
  // There is no heartbeat, which would end them too.
  const rig = open({ clock: manualClock() });
  const id = await newSession(rig);
  const [revoked, other] = [
    await cookieOf(rig, { code: (await rig.authenticator.issueSignInCode()).code }),
    await cookieOf(rig, { code: (await rig.authenticator.issueSignInCode()).code }),
  ];
  const streams = [revoked, revoked, other].map((as, index) =>
    askAs(rig, as, "GET", index === 1 ? "/api/events" : `/api/sessions/${id}/events`),
  );
  const readers = (await Promise.all(streams)).map((answer) => answer.body?.getReader());
  // Read each stream's first chunk.
  for (const reader of readers) await reader?.read();

  const { signIns } = (await (await askAs(rig, revoked, "GET", "/api/sign-ins")).json()) as {
    signIns: { id: string; current: boolean }[];
  };
  expect(signIns.map(({ current }) => current)).toEqual([false, true]);
  const own = signIns.find(({ current }) => current)?.id ?? "";
  expect((await askAs(rig, other, "DELETE", `/api/sign-ins/${own}`)).status).toBe(204);

  for (const reader of [readers[0], readers[1]]) {
    const ended = vi.fn<() => void>();
    void (async () => {
      for (;;) if ((await reader?.read())?.done !== false) return ended();
    })();
    await expect.poll(() => ended).toHaveBeenCalled();
  }
  expect((await askAs(rig, revoked, "GET", "/api/sign-ins")).status).toBe(401);
  expect((await askAs(rig, other, "GET", "/api/sign-ins")).status).toBe(200);
  await readers[2]?.cancel();
  const repeated = await askAs(rig, other, "DELETE", `/api/sign-ins/${own}`);
  expect([repeated.status, await codeOf(repeated)]).toEqual([404, "sign_in_not_found"]);
});

test("[safety] an expired sign-in loses its streams at the next heartbeat", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const clock = manualClock();
  const rig = open({ clock });
  const as = await cookieOf(rig, { code: (await rig.authenticator.issueSignInCode()).code });
  const opened = ["/api/events", `/api/sessions/${await newSession(rig)}/events`].map((path) =>
    askAs(rig, as, "GET", path),
  );
  const readers = (await Promise.all(opened)).map((answer) => answer.body?.getReader());
  let over = 0;
  for (const reader of readers)
    void (async () => {
      while ((await reader?.read())?.done === false);
      over += 1;
    })();
  const beat = async (): Promise<void> => {
    await nextTurn();
    await clock.advance(15_000);
  };
  for (const _ of [1, 2, 3]) await beat();
  expect(over).toBe(0);
  vi.setSystemTime(Date.now() + 31 * 24 * 3_600_000);
  await beat();
  await expect.poll(() => over).toBe(2);
});

test("[safety] logging out ends the streams of that sign-in", async () => {
  // There is no heartbeat, which would end them too.
  const rig = open({ clock: manualClock() });
  const as = await cookieOf(rig, { code: (await rig.authenticator.issueSignInCode()).code });
  const reader = (await askAs(rig, as, "GET", "/api/events")).body?.getReader();
  await reader?.read();
  expect((await askAs(rig, as, "POST", "/api/logout")).status).toBe(204);
  expect(await reader?.read()).toEqual({ done: true, value: undefined });
});

test("[safety] neither an anonymous client nor an old sign-in can set the first password", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const rig = open();
  const body = { password: "correct horse" };
  expect((await askAs(rig, { host }, "PUT", "/api/password", body)).status).toBe(401);
  const as = await cookieOf(rig, { code: (await rig.authenticator.issueSignInCode()).code });
  vi.setSystemTime(Date.now() + 11 * 60_000);
  const late = await askAs(rig, as, "PUT", "/api/password", body);
  expect([late.status, await codeOf(late)]).toEqual([403, "forbidden"]);
  expect((await askAs(rig, as, "DELETE", "/api/password")).status).toBe(403);
  expect((await login(rig, body)).status).toBe(401);
});

test("a code that is made over the API signs one browser in, once", async () => {
  const rig = open();
  const token = { host, authorization: "Bearer a-token-for-this-test" };
  const made = await askAs(rig, token, "POST", "/api/sign-in-codes");
  expect(made.status).toBe(201);
  const { code } = (await made.json()) as { code: string };
  await cookieOf(rig, { code });
  expect((await login(rig, { code })).status).toBe(401);
});

test("[safety] neither an anonymous client, an API key nor an old sign-in makes a sign-in code", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const rig = open();
  const as = await cookieOf(rig, { code: (await rig.authenticator.issueSignInCode()).code });
  const { secret } = valueOf(await rig.client.createKey({ body: { name: "job" } }));
  const key = { host, authorization: `Bearer ${secret}` };
  vi.setSystemTime(Date.now() + 11 * 60_000);
  for (const [who, status] of [
    [{ host }, 401],
    [key, 403],
    [as, 403],
  ] as const)
    expect((await askAs(rig, who, "POST", "/api/sign-in-codes")).status).toBe(status);
});

test("[safety] an old sign-in makes no API key, which would outlive it", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const rig = open();
  const as = await cookieOf(rig, { code: (await rig.authenticator.issueSignInCode()).code });
  const create = (name: string) => askAs(rig, as, "POST", "/api/keys", { name });
  expect((await create("one")).status).toBe(201);
  vi.setSystemTime(Date.now() + 11 * 60_000);
  const late = await create("two");
  expect([late.status, await codeOf(late)]).toEqual([403, "forbidden"]);
});

test("the console link sets a password that works from then on and ends all other sign-ins", async () => {
  const rig = open();
  const before = await cookieOf(rig, { code: (await rig.authenticator.issueSignInCode()).code });
  const as = await cookieOf(rig, { code: (await rig.authenticator.issueSignInCode()).code });
  const short = await askAs(rig, as, "PUT", "/api/password", { password: "short" });
  expect([short.status, await codeOf(short)]).toEqual([400, "invalid_request"]);
  const password = "correct horse";
  expect((await askAs(rig, as, "PUT", "/api/password", { password })).status).toBe(204);
  expect((await askAs(rig, before, "GET", "/api/principal")).status).toBe(401);
  const principal = await askAs(rig, as, "GET", "/api/principal");
  expect(await principal.json()).toEqual({
    principal: { ownerId: "owner", by: "sign-in" },
    password: true,
  });
  const by = await cookieOf(rig, { password });
  expect((await askAs(rig, by, "GET", "/api/principal")).status).toBe(200);
  expect((await login(rig, { password: "wrong horse" })).status).toBe(401);
});

test("[safety] password guessing is throttled, whatever the forwarding headers say", async () => {
  // Hashing a password takes real time, which must not count toward the guesser's delay.
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const rig = open();
  const guess = (forwarded: string) =>
    rig.app.request(
      "/api/login",
      {
        method: "POST",
        body: JSON.stringify({ password: "a guess" }),
        headers: { host, "x-forwarded-for": forwarded },
      },
      {},
    );
  const answers: Response[] = [];
  for (let tries = 0; tries < 7; tries += 1) answers.push(await guess(`192.0.2.${tries}`));
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429, 429]);
  expect(Number(answers[6]?.headers.get("retry-after"))).toBeGreaterThan(0);
  // The token still works while password guesses are throttled.
  expect((await rig.ask("GET", "/api/sign-ins")).status).toBe(200);
});

test("[safety] guesses of the current password by an old sign-in are counted", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const rig = open();
  const password = "correct horse";
  const as = await cookieOf(rig, { code: (await rig.authenticator.issueSignInCode()).code });
  expect((await askAs(rig, as, "PUT", "/api/password", { password })).status).toBe(204);
  vi.setSystemTime(Date.now() + 11 * 60_000);
  const change = (current: string) =>
    askAs(rig, as, "PUT", "/api/password", { password: "another horse", current });
  const statuses: number[] = [];
  for (let tries = 0; tries < 6; tries += 1) statuses.push((await change(`guess ${tries}`)).status);
  expect(statuses).toEqual([403, 403, 403, 403, 403, 429]);
  const right = await change(password);
  expect([right.status, Number(right.headers.get("retry-after"))]).toEqual([429, 1]);
  vi.setSystemTime(Date.now() + 1_000);
  expect((await change(password)).status).toBe(204);
});
