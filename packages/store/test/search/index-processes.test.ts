import { spawn } from "node:child_process";
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";

import { expect, test } from "vitest";

import { hitsOf, openSearchRig, sendMessages } from "@holdfast/testing/stores/search-rig";

const script = fileURLToPath(new URL("./index-process.ts", import.meta.url));

function indexElsewhere(file: string) {
  const child = spawn(process.execPath, [script, file], { stdio: ["ignore", "pipe", "inherit"] });
  let steps = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (steps += text));
  const ended = once(child, "close");
  const stepped = once(child.stdout, "data");
  return { child, ended, stepped, steps: () => steps };
}

test(
  "several processes share the indexing, and killing one leaves the index intact",
  { timeout: 120_000 },
  async () => {
    await using rig = await openSearchRig();
    const { file, index, store, chat } = rig;
    const texts = Array.from(
      { length: 6_000 },
      (_, count) => `shrimp ${count} ${"krill ".repeat(30)}`,
    );
    for (let from = 0; from < texts.length; from += 1_000)
      await sendMessages(chat, ...texts.slice(from, from + 1_000));
    const victim = indexElsewhere(file);
    await victim.stepped;
    victim.child.kill("SIGKILL");
    const others = [indexElsewhere(file), indexElsewhere(file)];
    await Promise.all([victim.ended, ...others.map(({ ended }) => ended)]);
    for (const { child, steps } of others) {
      expect(child.exitCode).toBe(0);
      expect(steps()).toMatch(/current\n$/);
      expect(steps()).not.toContain("rebuilt");
    }
    const database = new DatabaseSync(index, { readOnly: true });
    // Including the session's title.
    expect(database.prepare("SELECT count(*) AS n FROM documents").get()).toEqual({ n: 6_001 });
    expect(database.prepare("SELECT pos >= goal AS whole FROM progress").get()).toEqual({
      whole: 1,
    });
    database.close();
    await store.search.settled();
    const hits = await hitsOf(chat, { text: "shrimp 5999" });
    expect(hits.map((hit) => hit.seq)).toEqual([6_001]);
  },
);
