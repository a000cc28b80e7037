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
  const row = openApproval("rm a\u202Eb", "Gives this line to a shell:\nrm a\\u{202E}b");
  expect(approvalMessage(row).text).toContain("rm a\\u{202E}b");
  expect(labels(row)).toEqual(["Allow once", "Allow in this session", "Deny"]);
  expect(approvalMessage(openApproval("rm a\u202Eb")).text).not.toContain("\u202E");
});

test("an approval that does not fit the message can only be denied by button", () => {
  const row = openApproval(`echo ${" ".repeat(5_000)}; rm -rf ~`);
  expect(approvalMessage(row).text).toMatch(/\d+ more characters/);
  expect(labels(row)).toEqual(["Deny"]);
});
