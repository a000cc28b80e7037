import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";

import { createFileSearch } from "./file-search.ts";

function openFolder() {
  const root = mkdtempSync(join(tmpdir(), "holdfast-search-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const put = (path: string, text: string): void => {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  return { root, put };
}

const output = { maxLines: 10, maxLength: 1_000, whenNone: "None.", whenMore: "More." };

test("[safety] a hundred searches in one step share two threads", async () => {
  const { root, put } = openFolder();
  put("a.txt", "here\n");
  let most = 0;
  let running = 0;
  const onThread = (worker: Worker): void => {
    running += 1;
    most = Math.max(most, running);
    worker.once("exit", () => (running -= 1));
  };
  process.on("worker", onThread);
  onTestFinished(() => void process.off("worker", onThread));
  const search = createFileSearch();
  const grep = { kind: "grep", files: undefined, pattern: "here", flags: "u" } as const;
  const job = { ...grep, root, path: ".", maxLines: 10 };
  const found = Array.from({ length: 100 }, () => search(job, output, new AbortController()));
  for (const { output: lines } of await Promise.all(found)) expect(lines).toBe("a.txt:1: here");
  expect(most).toBe(2);
});

test("[safety] a .gitignore pattern that runs forever is stopped, and leaves the event loop free", async () => {
  const { root, put } = openFolder();
  // Twenty `**` can split forty folders in more ways than any machine can try.
  put(".gitignore", `${"a/**/".repeat(20)}b\n`);
  put(`${"a/".repeat(40)}c`, "");
  const turns = { count: 0, isOver: false };
  const search = createFileSearch({ limitMs: 300 });
  const job = { kind: "list", root, path: ".", depth: 50 } as const;
  // Room for every line, so that only the time can stop it.
  const roomy = { ...output, maxLines: 100, maxLength: 10_000 };
  const listing = search(job, roomy, new AbortController()).finally(() => {
    turns.isOver = true;
  });
  while (!turns.isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    turns.count += 1;
  }
  expect((await listing).output).toMatch(/took longer than 300 ms/);
  expect(turns.count).toBeGreaterThan(100);
});
