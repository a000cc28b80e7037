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

test("[safety] nested .gitignore files with many slow patterns leave the event loop free", async () => {
  const { root, put } = openFolder();
  const patterns = Array.from({ length: 500 }, (_, n) => `${"*a".repeat(50)}${n}\n`).join("");
  for (let depth = 0; depth < 6; depth += 1)
    put(`evil${"/deep".repeat(depth)}/.gitignore`, patterns);
  put(`evil${"/deep".repeat(5)}/${"a".repeat(200)}`, "");
  const turns = { count: 0, isOver: false };
  const search = createFileSearch({ limitMs: 300 });
  const job = { kind: "list", root, path: "evil", depth: 10 } as const;
  // Room for every line, so that only the time can stop it.
  const listing = search(job, { ...output, maxLines: 100 }, new AbortController()).finally(() => {
    turns.isOver = true;
  });
  while (!turns.isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    turns.count += 1;
  }
  expect((await listing).output).toMatch(/took longer than 300 ms/);
  expect(turns.count).toBeGreaterThan(100);
});
