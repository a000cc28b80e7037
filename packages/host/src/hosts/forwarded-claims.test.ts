import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownerId } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";
import { keySettings } from "../../test/support/providers/models.ts";
import { openKeyring } from "../ops/secrets/secrets-key.ts";
import { createClaimReader, digestBody, principalOf, signClaims } from "./forwarded-claims.ts";

const principal = {
  ownerId: ownerId.parse("owner"),
  by: "api-key" as const,
  apiKey: { id: "1", name: "ci", profile: "program" },
  isFresh: false,
  revoked: new AbortController().signal,
  isStillValid: () => true,
};
const request = { to: "two", at: 1_000_000, method: "GET", path: "/api/sessions/ses_1/files?a=1" };

function openKey(key: string) {
  const home = mkdtempSync(join(tmpdir(), "holdfast-claims-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return openKeyring(keySettings(home, key.repeat(4)));
}

function sign(keyring = openKey("of-all-hosts")): string {
  const body = digestBody(new Uint8Array());
  return signClaims(keyring, { ...request, from: "one", body }, principal);
}

test("[safety] another host's request is believed once, as signed, in time, and for this host alone", async () => {
  const header = sign();
  const reader = () => {
    const read = createClaimReader(openKey("of-all-hosts"));
    return (text: string, { at, ...expected }: typeof request) =>
      read(text, expected, async () => at);
  };
  const read = reader();
  const claims = await read(header, request);
  expect(claims).toMatchObject({ from: "one", path: request.path });
  expect(claims === null ? null : principalOf(claims)).toMatchObject({
    ownerId: "owner",
    by: "api-key",
    apiKey: principal.apiKey,
  });
  expect(await read(header, request)).toBeNull();
  expect(await read(sign(), { ...request, at: request.at + 59_000 })).not.toBeNull();
  for (const other of [
    { to: "three" },
    { method: "PUT" },
    { path: "/api/sessions/ses_2/files?a=1" },
    { at: request.at + 61_000 },
    { at: request.at - 61_000 },
  ])
    expect(await reader()(header, { ...request, ...other })).toBeNull();
});

test("[safety] what another key signed, what is no request, and what is damaged is not believed, and costs no look at the clock", async () => {
  const keyring = openKey("of-all-hosts");
  const claimReader = createClaimReader(keyring);
  let looks = 0;
  const read = (text: string) =>
    claimReader(text, request, async () => {
      looks += 1;
      return request.at;
    });
  expect(await read(sign(openKey("of-somebody")))).toBeNull();
  const secret = JSON.stringify(keyring.seal("a secret", "{}"));
  const header = sign(keyring);
  for (const forged of [
    "",
    "{}",
    Buffer.from("{}").toString("base64url"),
    Buffer.from(secret).toString("base64url"),
    `${header.slice(0, -20)}AAAA${header.slice(-16)}`,
    header.padEnd(20_000, "A"),
  ])
    expect(await read(forged)).toBeNull();
  expect(looks).toBe(0);
  expect(await read(header)).not.toBeNull();
});
