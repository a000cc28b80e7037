import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Register, Store } from "@holdfast/engine";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";
import { keySettings } from "../../../test/support/providers/models.ts";
import { openEncryptedRows } from "../../ops/secrets/encrypted-rows.ts";
import { openKeyring } from "../../ops/secrets/secrets-key.ts";
import { openAuthentication } from "./authentication.ts";
import { createAuthenticator, owner } from "./authenticator.ts";
import { digestSecret } from "./secret-digest.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-sign-ins-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

const open = async (home: string, issuing: string, store: SharedStore) =>
  openAuthentication({
    home,
    token: issuing,
    store,
    encrypted: await openEncryptedRows(store, openKeyring(keySettings(home))),
  });

type SharedStore = Pick<Store, "kind" | "register">;

const token = "the token";
const shown = (signIn: string) => ({ authorization: undefined, signIn });

function openTwo(kind: Store["kind"] = "memory", tokens = [token, token]) {
  const clock = { now: 1_000 };
  const store: SharedStore = { ...createReferenceStore(), kind };
  const now = () => clock.now;
  const [one, other] = tokens.map((each) => createAuthenticator({ token: each, store, now }));
  if (one === undefined || other === undefined) throw new Error("There are two.");
  return { clock, store, one, other };
}

test("a sign-in made at one host is valid at another at once, and so is its end", async () => {
  const { clock, one, other } = openTwo();
  expect(await other.signIns()).toEqual([]);
  const secret = (await one.signIn({ token })) ?? "";
  const principal = await other.authenticate(shown(secret));
  expect(principal).toMatchObject({ by: "sign-in" });
  expect(await one.revoke(principal?.signInId ?? "")).toBe("revoked");
  clock.now += 500;
  expect(await other.authenticate(shown(secret))).toBeUndefined();
  expect(principal?.revoked.aborted).toBe(true);
});

test("[safety] a stream's check notices that another host has ended its sign-in", async () => {
  const { clock, one, other } = openTwo();
  const secret = (await one.signIn({ token })) ?? "";
  const principal = await other.authenticate(shown(secret));
  await one.signOut(secret);
  clock.now += 500;
  principal?.isStillValid();
  await expect.poll(() => principal?.revoked.aborted).toBe(true);
  expect(principal?.isStillValid()).toBe(false);
});

test("a sign-in at one host does not restore what another revoked at the same moment", async () => {
  const { clock, one, other, store } = openTwo();
  const secret = (await one.signIn({ token })) ?? "";
  const [signIn] = await other.signIns();
  await Promise.all([one.revoke(signIn?.id ?? ""), other.signIn({ token })]);
  clock.now += 500;
  for (const each of [one, other, createAuthenticator({ token, store, now: () => clock.now })])
    expect(await each.authenticate(shown(secret))).toBeUndefined();
});

test("in a home's own store a sign-in is valid under its own token only", async () => {
  const { one, other } = openTwo("sqlite", [token, "another token"]);
  const secret = (await one.signIn({ token })) ?? "";
  expect(await one.authenticate(shown(secret))).toBeDefined();
  expect(await other.authenticate(shown(secret))).toBeUndefined();
});

test("hosts on a shared store accept each other's sign-ins, until the token that issued one is replaced", async () => {
  const store: SharedStore = { ...createReferenceStore(), kind: "postgres" };
  const [home, otherHome] = [makeHome(), makeHome()];
  const { authenticator: one } = await open(home, token, store);
  const { authenticator: other } = await open(otherHome, "another token", store);
  const secret = (await one.signIn({ token })) ?? "";
  const kept = (await other.signIn({ token: "another token" })) ?? "";
  expect(await other.authenticate(shown(secret))).toBeDefined();
  const { authenticator: later } = await open(home, "a new token", store);
  expect(await later.authenticate(shown(secret))).toBeUndefined();
  expect(await later.authenticate(shown(kept))).toBeDefined();
});

test("[safety] a revocation that cannot be stored is reported, and this host still applies it", async () => {
  const whole = createReferenceStore();
  const failing = { isFull: false };
  const register: Register = {
    ...whole.register,
    put: async (change) =>
      failing.isFull
        ? { status: "failed", code: "store_full", message: "The disk is full." }
        : whole.register.put(change),
  };
  const clock = { now: 1_000 };
  const host = createAuthenticator({
    token,
    store: { kind: "sqlite", register },
    now: () => clock.now,
  });
  const secret = (await host.signIn({ token })) ?? "";
  const principal = await host.authenticate(shown(secret));
  failing.isFull = true;
  await expect(host.revoke(principal?.signInId ?? "")).rejects.toThrow("The disk is full.");
  expect(principal?.revoked.aborted).toBe(true);
  clock.now += 500;
  expect(await host.authenticate(shown(secret))).toBeUndefined();
});

test("stored sign-ins contain no secret", async () => {
  const { one, store } = openTwo();
  const secret = (await one.signIn({ token }, { page: { key: "k".repeat(43) } })) ?? "";
  const [row] = await store.register.list(owner, "sign-in/", 10);
  for (const hidden of [secret, token, "k".repeat(43), digestSecret("k".repeat(43))])
    expect(row?.value).not.toContain(hidden);
});

const oldFile = (secret: string, issuedUnder = token): string =>
  JSON.stringify({
    token: digestSecret(issuedUnder),
    signIns: {
      [digestSecret(secret)]: {
        id: "old",
        createdAt: 1,
        expiresAt: Date.now() * 2,
        about: "Firefox",
      },
    },
  });

test("sign-ins of an earlier version are moved once, also if the host dies on the way", async () => {
  const home = makeHome();
  const file = join(home, "sign-ins.json");
  writeFileSync(file, oldFile("secret"));
  const text = readFileSync(file, "utf8");
  const store = createReferenceStore();
  await open(home, token, store);
  expect(existsSync(file)).toBe(false);
  // As after a crash between the row and the file's removal.
  writeFileSync(file, text);
  const { authenticator } = await open(home, token, store);
  expect((await authenticator.signIns()).map(({ id }) => id)).toEqual(["old"]);
  const pageKey = "k".repeat(43);
  expect(await authenticator.bindPage("secret", pageKey)).toBe(true);
  expect(await authenticator.authenticate({ ...shown("secret"), pageKey })).toBeDefined();
});

test.each(["{ torn", oldFile("secret", "an earlier token")])(
  "a file that is damaged or of another token signs nobody in",
  async (text) => {
    const home = makeHome();
    writeFileSync(join(home, "sign-ins.json"), text);
    const { authenticator } = await open(home, token, createReferenceStore());
    expect(await authenticator.signIns()).toEqual([]);
  },
);
