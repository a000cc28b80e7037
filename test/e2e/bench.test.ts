import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { createFolder } from "@holdfast/testing/process/folder";
import { startProcess } from "@holdfast/testing/process/start-process";

interface Figure {
  readonly workload: string;
  readonly system: string;
  readonly value: number;
}

function readFigures(file: string): readonly Figure[] {
  const written: unknown = JSON.parse(readFileSync(file, "utf8"));
  expect(written).toMatchObject({
    subject: "store",
    quick: true,
    machine: { node: process.version },
  });
  return (written as { figures: readonly Figure[] }).figures;
}

test("the benchmark measures the store on a given corpus and writes all figures", async () => {
  const folder = createFolder({
    "corpus.jsonl":
      '{"role": "user", "content": "Hello"}\n{"role": "assistant", "content": "你好"}\n',
  });
  const json = join(folder, "figures.json");
  const asked = ["--quick", "--only", "W1.alone", "--backend", "sqlite"];
  const files = ["--corpus", join(folder, "corpus.jsonl"), "--json", json];
  const bench = startProcess(["bench/main.ts", "store", ...asked, ...files], {
    env: { TMPDIR: folder },
  });
  expect({ ...(await bench.exited), stderr: bench.stderr() }).toMatchObject({ code: 0 });

  const figures = readFigures(json);
  for (const { value } of figures) expect(value).toBeGreaterThan(0);
  expect(new Set(figures.map((figure) => `${figure.workload} by ${figure.system}`))).toEqual(
    new Set(
      ["holdfast", "bare driver", "in a thread", "JSON files"].map((name) => `W1.alone by ${name}`),
    ),
  );
  expect(readdirSync(folder).toSorted()).toEqual(["corpus.jsonl", "figures.json"]);
});

test("an unknown benchmark is answered with the known ones", async () => {
  const bench = startProcess(["bench/main.ts", "nothing"]);
  expect(await bench.exited).toMatchObject({ code: 2 });
  expect(bench.stderr()).toContain("npm run bench -- <subject>");
});
