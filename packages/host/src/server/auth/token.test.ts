import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadOrCreateToken } from "./token.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-token-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return home;
}

function tokenOf(home: string): string {
  const token = loadOrCreateToken(home);
  if (!token.ok) throw new Error(token.failure.message);
  return token.value;
}

test("the token has 256 bits, is readable by its owner only, and is stable", () => {
  const home = makeHome();
  const token = tokenOf(home);
  expect(Buffer.from(token, "base64url")).toHaveLength(32);
  expect(statSync(join(home, "token")).mode & 0o777).toBe(0o600);
  expect(tokenOf(home)).toBe(token);
  expect(readdirSync(home)).toEqual(["token"]);
});

test("two homes have different tokens", () => {
  expect(tokenOf(makeHome())).not.toBe(tokenOf(makeHome()));
});

test("a token file readable by others gets its permissions fixed", () => {
  const home = makeHome();
  const path = join(home, "token");
  writeFileSync(path, "kept-by-hand\n");
  chmodSync(path, 0o644);
  expect(tokenOf(home)).toBe("kept-by-hand");
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("an empty token file is refused by name", () => {
  const home = makeHome();
  writeFileSync(join(home, "token"), "\n");
  expect(loadOrCreateToken(home)).toMatchObject({ ok: false, failure: { code: "home.unusable" } });
});
