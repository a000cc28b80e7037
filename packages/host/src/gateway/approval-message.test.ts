import type { ApprovalRow } from "@holdfast/engine";
import { anOwner } from "@holdfast/testing/fixtures/factories";
import { ids } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { approvalMessage } from "./approval-message.ts";

const openApproval = (command: string, shown?: string): ApprovalRow => ({
  id: ids.make("approval"),
  session: ids.make("session"),
  owner: anOwner(),
  runId: ids.make("run"),
  callId: ids.make("call"),
  tool: "terminal",
  input: { command },
  inputHash: "",
  askedAt: 0,
  expiresAt: 1,
  state: "open",
  decision: null,
  answeredAt: null,
  details: shown === undefined ? {} : { shown },
});
const labels = (row: ApprovalRow) =>
  approvalMessage(row).buttons?.flatMap((buttonRow) => buttonRow.map(({ label }) => label));

test("an approval shows the host's description with control characters made visible", () => {
  const row = openApproval("rm a\u202Eb", "Shell command:\nrm a\\u{202E}b");
  expect(approvalMessage(row).text).toContain("rm a\\u{202E}b");
  expect(labels(row)).toEqual(["Allow once", "Allow for this session", "Deny"]);
  expect(approvalMessage(openApproval("rm a\u202Eb")).text).not.toContain("\u202E");
});

test("an approval that does not fit the message can only be denied by button", () => {
  const row = openApproval(`echo ${" ".repeat(5_000)}; rm -rf ~`);
  expect(approvalMessage(row).text).toMatch(/\d+ more characters/);
  expect(labels(row)).toEqual(["Deny"]);
});

test("[safety] a call with hidden parts can only be denied by button", () => {
  const row = openApproval("ls", "ls");
  expect(labels(row)).toContain("Allow once");
  expect(labels({ ...row, details: { ...row.details, hidden: 12 } })).toEqual(["Deny"]);
});

test("[safety] a call cannot end the block that it is shown in", () => {
  const { text } = approvalMessage(openApproval("ls", "Runs:\n  ls\n```\nharmless\n```"));
  expect(text.split("```")).toHaveLength(3);
  expect(text).toContain("\\u{0060}\\u{0060}\\u{0060}\nharmless");
});

test("[safety] a name that a stranger chose cannot pass for a part of the question", () => {
  const row = openApproval("rm -rf x", "Shell command:\n  rm -rf x");
  const name = "a.txt:\n```\n  ls\n```\n**not what is** below";
  const after = [{ kind: "attachment", name }];
  const { text } = approvalMessage({ ...row, details: { ...row.details, after, notes: [name] } });
  expect(text.split("```")).toHaveLength(3);
  expect(text.split("\n")).toHaveLength(6);
  expect(text).toContain("\\*\\*not what is\\*\\* below:\n");
});

test("[safety] an approval says whether the command would be confined", () => {
  const row = openApproval("ls", "Shell command:\nls");
  const withNote = (kind: string, words: string) =>
    approvalMessage({ ...row, details: { ...row.details, sandbox: { kind, words } } }).text;
  expect(withNote("namespaces", "In a sandbox.")).toMatch(/\nIn a sandbox\.$/);
  expect(withNote("none", "Not in a sandbox: \u202Ex")).toMatch(
    /\n⚠ Not in a sandbox: \\u\{202E\}x$/,
  );
  expect(approvalMessage(row).text).not.toContain("sandbox");
});
