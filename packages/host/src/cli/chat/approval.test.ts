import { ids } from "@holdfast/protocol";
import { expect, test, vi } from "vitest";
import type { RenderStyle } from "../screen/paint.ts";
import type { OpenApproval } from "../transcript/open-approval.ts";
import { approvalRows } from "./approval.ts";
import type { ChatSession } from "./chat-session.ts";
import { handleLine } from "./handle-line.ts";

const style: RenderStyle = { width: 80, paint: (_, text) => text };
const content = `${"a line of text\n".repeat(2_000)}the very end`;
const shown = `Writes to "a.txt":\n${content.slice(0, 8_000)}\n[22012 more characters are not shown here]`;
const approval: OpenApproval = {
  approvalId: ids.make("approval"),
  callId: ids.make("call"),
  name: "write_file",
  input: { path: "a.txt", content },
  inputHash: "",
  askedAt: 0,
  shown,
};

function openTyping() {
  const answer = vi.fn<ChatSession["answer"]>(async () => undefined);
  const conversation = { answer } as unknown as ChatSession;
  const type = (text: string) => handleLine(text, { conversation, approval, style, folder: null });
  return { answer, type };
}

test("a truncated call says how much is hidden and how to see it, and is shown in full on request", async () => {
  const rows = approvalRows(approval, style).join("\n");
  expect(rows).toContain("more characters are not shown here");
  expect(rows).toContain("v show the whole call");
  expect(rows).not.toContain("the very end");
  const { answer, type } = openTyping();
  const full = await type("v");
  expect(full.rows.join("\n")).toContain("the very end");
  expect(answer).not.toHaveBeenCalled();
  await type("d");
  expect(answer.mock.calls.map(([, reply]) => reply)).toEqual([{ decision: "deny" }]);
});

test("text after a denial is its reason, and text after a yes is not an answer", async () => {
  const { answer, type } = openTyping();
  await type("d keep that file");
  await type("deny: keep\nthat file");
  const refused = await type("once more");
  expect(refused.rows.join("\n")).toContain("Please answer the question above first.");
  expect(answer.mock.calls.map(([, reply]) => reply)).toEqual([
    { decision: "deny", answer: "keep that file" },
    { decision: "deny", answer: "keep\nthat file" },
  ]);
});

test("a call that is shown in full does not offer to show more", () => {
  const rows = approvalRows({ ...approval, shown: "Runs ls" }, style).join("\n");
  expect(rows).not.toContain("shows all of it");
});

test("[safety] an approval says whether the command would be confined", () => {
  const sandbox = { kind: "none", words: "Not in a sandbox: it can do anything." };
  expect(approvalRows({ ...approval, sandbox }, style)).toContain(sandbox.words);
  expect(approvalRows(approval, style).join()).not.toContain("sandbox");
});

test("a command that fits is shown as one line, and a longer one keeps a row for each word", () => {
  const asked = { ...approval, name: "terminal", place: "/work" };
  const runs = (...words: string[]) => ({
    ...asked,
    input: { command: words },
    shown: [`Runs in the workspace "/work":`, ...words.map((word) => `  "${word}"`)].join("\n"),
  });
  const rows = approvalRows(runs("git", "commit", "-m", "a message"), style);
  expect(rows).toContain(`    git commit -m "a message"`);
  // The heading names the folder already.
  expect(rows.join("\n")).not.toContain("[in the folder");
  const long = approvalRows(runs("echo", "a".repeat(70), "b"), style);
  expect(long).toEqual(expect.arrayContaining([`    "echo"`, `    "b"`]));
});
