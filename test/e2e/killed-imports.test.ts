import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createClient } from "@holdfast/client";
import { runFsck } from "@holdfast/engine";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { type StartedProcess, startHost } from "@holdfast/testing/process/start-process";
import { expect, onTestFinished, test } from "vitest";

import { writeHermesHome } from "../../packages/host/test/support/hermes/cases.ts";
import {
  openTaker,
  owner,
  readReport,
} from "../../packages/host/test/support/hermes/import-into.ts";
import {
  differencesFrom,
  type Truth,
  truthSchema,
} from "../../packages/host/test/support/hermes/truth.ts";
import { makeFolder, settingsFor, valueOf } from "./served-host.ts";

/** `HOLDFAST_TEST_KILLS=20` for a long one. */
const kills = Number(process.env["HOLDFAST_TEST_KILLS"] ?? 2);
const genuine = process.env["HOLDFAST_TEST_HERMES_HOME"];

interface Source {
  readonly path: string;
  readonly truth: Truth;
}

const sources: readonly (readonly [string, () => Source])[] = [
  [
    "a home in hermes' formats",
    () => {
      const path = join(makeFolder(onTestFinished), "hermes");
      return { path, truth: writeHermesHome(path) };
    },
  ],
  ...(genuine === undefined
    ? []
    : [
        [
          "a genuine home",
          () => {
            const truth = JSON.parse(readFileSync(`${genuine}.truth.json`, "utf8")) as unknown;
            return { path: genuine, truth: truthSchema.parse(truth) };
          },
        ] as const,
      ]),
];

/** An import that was begun in a process of its own. */
interface Attempt {
  readonly process: StartedProcess;
  /** Resolves when the import has ended by itself. */
  readonly ended: Promise<unknown>;
}
type Begin = (home: string, path: string) => Promise<Attempt>;

const settings = (home: string) => settingsFor({ HOLDFAST_HOME: home });

/** `holdfast import hermes`, in a process of its own. */
async function command(home: string, path: string): Promise<Attempt> {
  const process = startHost(["import", "hermes", path], { env: settings(home) });
  return Promise.resolve({ process, ended: process.exited });
}

/** In a host that serves the home. */
async function served(home: string, path: string): Promise<Attempt> {
  const process = startHost(["serve"], { env: settings(home) });
  const line = await process.line((text) => text.startsWith("Holdfast is at "));
  const baseUrl = /^Holdfast is at ([^\s#]+)/.exec(line)?.[1] ?? "";
  const token = readFileSync(join(home, "token"), "utf8").trim();
  const client = createClient({ baseUrl, token });
  const { import: begun } = valueOf(await client.startImport({ body: { source: "hermes", path } }));
  const untilDone = async (): Promise<void> => {
    for (;;) {
      const read = await client.readImport({ params: { id: begun.id } });
      if (read.ok && read.value.import.state !== "running") return;
      // A killed host answers nothing any more.
      if (!read.ok && read.error.kind === "network") return;
      await setTimeout(20);
    }
  };
  return { process, ended: untilDone() };
}

const importsOf = (home: string): readonly string[] => {
  const folder = join(home, "imports");
  return existsSync(folder) ? readdirSync(folder) : [];
};

async function untilBegun(home: string, { ended }: Attempt, known: ReadonlySet<string>) {
  const over = ended.then(() => true);
  const hasBegun = () => importsOf(home).some((name) => !known.has(name));
  while (!hasBegun()) if (await Promise.race([over, setTimeout(2, false)])) return;
}

/** Everything is there as it is known to be, and nothing else is in the store. */
async function expectWhole(home: string, { truth }: Source): Promise<void> {
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  try {
    const reports = importsOf(home).filter((name) => name.endsWith(".json"));
    const [newest = ""] = reports
      .map((name) => join(home, "imports", name))
      .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
    const { items, report } = await readReport(newest);
    expect(report?.totals).toMatchObject({ state: "done", differs: 0 });
    const taker = await openTaker(home, store);
    expect(await differencesFrom(truth, { store, owner, items, taker })).toEqual([]);
    const found = await runFsck(store.audit, { now: await store.now() });
    expect(found).toMatchObject({ exitCode: 0, findings: 0 });
    const leftovers = importsOf(home).filter((name) => !name.endsWith(".json"));
    expect(leftovers).toEqual([]);
  } finally {
    await store.close();
  }
}

const ways: readonly (readonly [string, Begin])[] = [
  ["the command", command],
  ["a running host", served],
];

test.each(ways.flatMap(([way, begin]) => sources.map((source) => [way, begin, source] as const)))(
  "an import in %s that is killed at random instants is whole in the end",
  async (_, begin, [, place]) => {
    const source = place();
    const newHome = (): string => join(makeFolder(onTestFinished), "home");
    let home = newHome();
    /** How long one takes that isn't killed: kills are spread over it. */
    let longest = 1_500;
    for (let killed = 0; killed < kills;) {
      const known = new Set(importsOf(home));
      const attempt = await begin(home, source.path);
      await untilBegun(home, attempt, known);
      const begun = performance.now();
      const isOver = await Promise.race([
        attempt.ended.then(() => true),
        setTimeout(Math.random() * longest, false),
      ]);
      await attempt.process.kill();
      if (!isOver) {
        killed += 1;
        continue;
      }
      longest = performance.now() - begun;
      await expectWhole(home, source);
      home = newHome();
    }
    const last = await begin(home, source.path);
    await last.ended;
    last.process.signal("SIGTERM");
    await last.process.exited;
    await expectWhole(home, source);
  },
  90_000 + kills * 30_000,
);
