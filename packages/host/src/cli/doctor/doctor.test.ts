import { expect, test } from "vitest";
import { judgeClock } from "./host.ts";
import { judgeOpenFiles, judgeRoom, judgeSync, lookAtNode, lookAtSqlite } from "./machine.ts";

const megabyte = 1024 * 1024;

test.each([
  ["room for years", judgeRoom(50_000 * megabyte, "/home"), "good"],
  ["room for a while", judgeRoom(500 * megabyte, "/home"), "care"],
  ["hardly any room", judgeRoom(99 * megabyte, "/home"), "bad"],
  ["a disk that syncs", judgeSync(2, "/home"), "good"],
  ["a disk that takes its time", judgeSync(80, "/home"), "care"],
  ["clocks that agree", judgeClock(4_000, "the database's"), "good"],
  ["a clock that is behind", judgeClock(-60_000, "the database's"), "care"],
  ["few open files", judgeOpenFiles(1_024), "care"],
  ["many open files", judgeOpenFiles(Infinity), "good"],
  ["files that nobody counts", judgeOpenFiles(undefined), "good"],
  ["a Node of yesterday", lookAtNode("22.1.0"), "bad"],
  ["a Node of today", lookAtNode("24.0.0"), "good"],
])("%s is judged %#", (_, finding, state) => {
  expect(finding.state).toBe(state);
});

test("a SQLite that can lose what it has committed is named as such", async () => {
  expect(await lookAtSqlite("3.52.0")).toMatchObject({ state: "bad" });
  expect(await lookAtSqlite("3.53.4")).toMatchObject({ state: "good" });
});
