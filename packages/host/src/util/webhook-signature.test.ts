import { expect, test } from "vitest";

import { signedHeaders, verifySigned } from "./webhook-signature.ts";

const secret = "a-secret-that-both-sides-know";
const now = 1_800_000_000_000;
const body = new TextEncoder().encode('{"text":"Hello"}');

/** Verifies a request signed with these secrets at this time, and then modified. */
function verify(
  { secrets = [secret], id = "msg-1", at = now } = {},
  changed: Partial<Parameters<typeof verifySigned>[0]> = {},
  accepted: readonly string[] = [secret],
) {
  const headers = signedHeaders(secrets, id, Math.floor(at / 1_000), body);
  const sent = {
    id: headers["webhook-id"],
    timestamp: headers["webhook-timestamp"],
    signature: headers["webhook-signature"],
    body,
    ...changed,
  };
  return verifySigned(sent, accepted, now).status;
}

test("a request signed with the secret is accepted, also with a base64 key", () => {
  expect(verify()).toBe("signed");
  const key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  expect(verify({ secrets: [key] }, {}, [key])).toBe("signed");
});

test("the signature matches the specification's example", () => {
  const key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const example = new TextEncoder().encode('{"test": 2432232314}');
  const headers = signedHeaders([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, example);
  expect(headers["webhook-signature"]).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

test("during a rotation both secrets are accepted on both sides, and afterwards only the new one", () => {
  const [old, fresh] = [secret, "another-secret-that-both-know"];
  expect(verify({ secrets: [old] }, {}, [fresh, old])).toBe("signed");
  expect(verify({ secrets: [fresh, old] }, {}, [old])).toBe("signed");
  expect(verify({ secrets: [old] }, {}, [fresh])).toBe("unsigned");
});

test.each([
  ["another body", { body: new TextEncoder().encode('{"text":"Hello!"}') }],
  ["another id", { id: "msg-2" }],
  ["another time", { timestamp: String(now / 1_000 + 1) }],
  ["no id", { id: undefined }],
  ["no time", { timestamp: undefined }],
  ["no signature", { signature: undefined }],
  ["a signature of nothing", { signature: "v1," }],
  ["a signature of another version", { signature: "v1a,AAAA" }],
  ["a signature that is cut", { signature: "v1,bm90IHdob2xl" }],
])("[safety] %s is rejected", (_, changed) => {
  expect(verify({}, changed)).toBe("unsigned");
});

test("[safety] an id that makes the signed text ambiguous is rejected, however it is signed", () => {
  expect(verify({ id: "msg.1" })).toBe("unsigned");
});

test("[safety] without a secret everything is rejected", () => {
  expect(verify({ secrets: [""] }, {}, [])).toBe("unsigned");
  expect(verify({ secrets: ["nobody-has-this-secret-and-nobody-will"] }, {}, [])).toBe("unsigned");
});

test.each([
  ["five minutes ago", "signed", -300_000],
  ["in five minutes", "signed", 300_000],
  ["longer ago", "stale", -301_000],
  ["later", "stale", 301_000],
])("[safety] a request signed %s is %s", (_, status, offset) => {
  expect(verify({ at: now + offset })).toBe(status);
});
