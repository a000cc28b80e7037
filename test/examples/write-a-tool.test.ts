import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ids, ownerId } from "@holdfast/protocol";
import { createFolder } from "@holdfast/testing/process/folder";
import { expect, test } from "vitest";
import { createPrintLabels } from "../../examples/write-a-tool/print-labels.ts";
import { startExample } from "./example.ts";

const start = (folder: string, args: readonly string[], msPerLabel = 1) =>
  startExample("write-a-tool/main.ts", args, {
    cwd: folder,
    env: { MS_PER_LABEL: String(msPerLabel) },
    stdin: "pipe",
  });

function labelsIn(folder: string): number {
  const file = join(folder, "printer.txt");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
}

test("a call that needs approval runs if allowed and not if denied", async () => {
  const folder = createFolder();
  const denied = start(folder, ["Print 5 labels.", "denied"]);
  await denied.saying(/allow it\?/);
  denied.type("n\n");
  await denied.exited;
  expect(denied.stdout()).toContain("A person did not allow this");
  expect(labelsIn(folder)).toBe(0);

  const allowed = start(folder, ["Print 5 labels.", "allowed"]);
  await allowed.saying(/allow it\?/);
  allowed.type("y\n");
  await allowed.exited;
  expect(allowed.stdout()).toContain("Label 5 of 5\nThe tool says: Printed 5 labels.");
  expect(labelsIn(folder)).toBe(5);
});

test("a call that needs no approval runs at once, and a repeated request prints nothing more", async () => {
  const folder = createFolder();
  for (const _ of ["first", "again"]) {
    const asked = start(folder, ["Print 2 labels."]);
    await asked.exited;
    expect(asked.stdout()).toContain("Printed 2 labels.");
    expect(asked.stdout()).not.toContain("allow it?");
  }
  expect(labelsIn(folder)).toBe(2);
});

test("[P7] a tool that must not be repeated is not run again after kill -9, and its outcome is unknown", async () => {
  const folder = createFolder();
  const first = start(folder, [], 1_000);
  await first.saying(/allow it\?/);
  first.type("y\n");
  await first.saying(/Label 2 of 5/);
  await first.kill();
  const printed = labelsIn(folder);

  const second = start(folder, []);
  expect(await second.exited).toEqual({ code: 0, signal: null });
  expect(second.stdout()).not.toContain("allow it?");
  expect(second.stdout()).toContain("The tool says: It is not known whether this took effect");
  expect(labelsIn(folder)).toBe(printed);
});

test("an approval survives kill -9 and can be answered after it", async () => {
  const folder = createFolder();
  const first = start(folder, []);
  await first.saying(/allow it\?/);
  await first.kill();
  const second = start(folder, []);
  await second.saying(/allow it\?/);
  second.type("y\n");
  await second.exited;
  expect(labelsIn(folder)).toBe(5);
});

const callWith = (input: { readonly text: string; readonly copies: number }) => ({
  owner: ownerId.parse("me"),
  session: ids.make("session"),
  runId: ids.make("run"),
  callId: ids.make("call"),
  input,
});

test("an aborted tool prints nothing more and says how far it got", async () => {
  const folder = createFolder();
  const tool = createPrintLabels(join(folder, "printer.txt"), 1);
  const cancel = new AbortController();
  const result = await tool.run(callWith({ text: "Plum jam", copies: 5 }), {
    signal: cancel.signal,
    write: (text) => text.startsWith("Label 2") && cancel.abort(),
  });
  expect(result).toEqual({ outcome: "cancelled", output: "Stopped after 2 of 5 labels." });
  expect(labelsIn(folder)).toBe(2);
});

test("arguments that do not match the schema fail with a message for the model", async () => {
  const folder = createFolder();
  const tool = createPrintLabels(join(folder, "printer.txt"), 1);
  const context = { signal: new AbortController().signal, write: () => {} };
  const result = await tool.run(callWith({ text: "Plum jam", copies: 51 }), context);
  expect(result.outcome).toBe("failed");
  expect(result.output).toContain("1 to 50");
  expect(labelsIn(folder)).toBe(0);
});
