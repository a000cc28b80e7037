import { expect, test } from "vitest";
import { clockFinding } from "./host.ts";
import { modeFindings } from "./sandbox.ts";
import { openFilesFinding, spaceFinding, syncFinding, checkNode, checkSqlite } from "./machine.ts";

const bytesPerMegabyte = 1024 * 1024;

test.each([
  ["room for years", spaceFinding(50_000 * bytesPerMegabyte, "/home"), "good"],
  ["room for a while", spaceFinding(500 * bytesPerMegabyte, "/home"), "care"],
  ["hardly any room", spaceFinding(99 * bytesPerMegabyte, "/home"), "bad"],
  ["a disk that syncs", syncFinding(2, "/home"), "good"],
  ["a disk that takes its time", syncFinding(80, "/home"), "care"],
  ["clocks that agree", clockFinding(4_000, "the database's"), "good"],
  ["a clock that is behind", clockFinding(-60_000, "the database's"), "care"],
  ["few open files", openFilesFinding(1_024), "care"],
  ["many open files", openFilesFinding(Infinity), "good"],
  ["files that nobody counts", openFilesFinding(undefined), "good"],
  ["a Node of yesterday", checkNode("22.1.0"), "bad"],
  ["a Node of today", checkNode("24.0.0"), "good"],
])("%s is judged %#", (_, finding, state) => {
  expect(finding.state).toBe(state);
});

test("a SQLite version that can lose committed data is reported", async () => {
  expect(await checkSqlite("3.52.0")).toMatchObject({ state: "bad" });
  expect(await checkSqlite("3.53.4")).toMatchObject({ state: "good" });
});

test("full mode where nothing confines commands is reported, since they still ask", () => {
  const judged = (mode: "ask" | "edits" | "full", kind: "bwrap" | "none") => {
    const sessionMode = { value: mode, source: { from: "default" } } as const;
    return modeFindings({ sessionMode }, { kind }).map(({ state }) => state);
  };
  expect([judged("ask", "none"), judged("edits", "none")]).toEqual([[], ["good"]]);
  expect([judged("full", "bwrap"), judged("full", "none")]).toEqual([["good"], ["care"]]);
});
