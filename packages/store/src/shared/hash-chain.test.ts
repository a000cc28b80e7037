import { sessionId } from "@holdfast/protocol";
import { expect, test } from "vitest";
import {
  ChainCheck,
  chainStart,
  commitmentOf,
  decodeLink,
  decodeRunningHash,
  encodeLink,
  encodeRunningHash,
  type HashedRow,
  linkHash,
} from "./hash-chain.ts";

const session = sessionId.parse("ses_00000000000000000000000000");
const salt = "0123456789abcdef";
const row: HashedRow = {
  seq: 12,
  id: "evt_1",
  type: "lane.bound",
  v: 1,
  at: 1_800_000_000_000,
  runId: null,
  quiet: false,
  data: '{"lane":"web:1"}',
};
const commitment = commitmentOf(row, { salt, output: null });

test.each<Partial<HashedRow>>([
  { seq: 13 },
  { id: "evt_2" },
  { type: "lane.bounds" },
  { v: 2 },
  { at: 1_800_000_000_001 },
  { runId: "run_1" },
  { quiet: true },
  { data: '{"lane":"web:2"}' },
])("[safety] an event with %j has another hash", (change) => {
  expect(commitmentOf({ ...row, ...change }, { salt, output: null })).not.toBe(commitment);
});

test("[safety] the salt, the settled output and the event before are part of the hash", () => {
  expect(commitmentOf(row, { salt: "0123456789abcdeX", output: null })).not.toBe(commitment);
  expect(commitmentOf(row, { salt, output: chainStart(session) })).not.toBe(commitment);
  expect(linkHash(chainStart(session), commitment)).not.toBe(linkHash(commitment, commitment));
});

test("a link round-trips through its text, and half a link is refused", () => {
  for (const output of [null, chainStart(session)]) {
    const link = { salt, hash: commitment, output };
    expect(decodeLink(encodeLink(link))).toEqual(link);
    expect(decodeLink(encodeLink(link).slice(0, -1))).toBeNull();
  }
});

test("the hash of open output counts only while it covers all of it", () => {
  const text = encodeRunningHash({ count: 3, hash: commitment });
  expect(decodeRunningHash(text, 3)).toEqual({ count: 3, hash: commitment });
  expect(decodeRunningHash(text, 4)).toBeNull();
  expect(decodeRunningHash(null, 1)).toBeNull();
  expect(decodeRunningHash(null, 0)).toEqual({ count: 0, hash: "" });
});

test("[safety] a chain that begins in the middle of a log needs the event that says so", () => {
  const link = { salt, output: null, hash: linkHash(chainStart(session), commitment) };
  const first = new ChainCheck(session);
  expect(first.check("session.created", link, commitment)).toBe("linked");

  const without = new ChainCheck(session);
  expect(without.check("session.created", null, "")).toBe("before chain");
  expect(without.check("lane.bound", link, commitment)).toBe("broken");

  const began = new ChainCheck(session);
  began.check("session.created", null, "");
  expect(began.check("chain.began", link, commitment)).toBe("linked");
  expect(began.check("lane.bound", null, "")).toBe("unlinked");
});
