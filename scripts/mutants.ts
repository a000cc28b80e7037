/**
 * Breaks a copy of the protocol on purpose, one fault at a time, and shows which test notices. Fails when a
 * fault goes unnoticed: then the tests promise more than they hold.
 */
import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

interface Mutant {
  readonly fault: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
  readonly tests: string;
}

const reducer = "reducer/reduce.property.test.ts";
const frames = "sse/frames.property.test.ts";
const client = "client/follow.test.ts";

const mutants: readonly Mutant[] = [
  {
    fault: "the reducer takes an event that it holds already",
    file: "reducer/reduce.ts",
    from: "if (event.seq <= state.seq) return state;",
    to: "",
    tests: reducer,
  },
  {
    fault: "a settled message is added and the live one stays",
    file: "reducer/reduce.ts",
    from: "return changeLive(explained(added, event), event);",
    to: "return explained(added, event);",
    tests: reducer,
  },
  {
    fault: "missing numbers are not noticed",
    file: "reducer/reduce.ts",
    from: "openGap(state.gaps, state.seq, event.seq)",
    to: "state.gaps",
    tests: reducer,
  },
  {
    fault: "pruned numbers are taken for lost ones",
    file: "reducer/reduce.ts",
    from: "explainGaps(state.gaps, deltas)",
    to: "state.gaps",
    tests: reducer,
  },
  {
    fault: "a range ends one number early",
    file: "reducer/entries.ts",
    from: "entry.seq <= to",
    to: "entry.seq < to",
    tests: reducer,
  },
  {
    fault: "a prompt stays in the inbox after its run has begun",
    file: "reducer/reduce.ts",
    from: "added.inbox.filter((item) => item.messageId !== event.data.messageId)",
    to: "added.inbox",
    tests: reducer,
  },
  {
    fault: "an ended run leaves its live parts behind",
    file: "reducer/run.ts",
    from: "endedAt: at }, live: null }",
    to: "endedAt: at } }",
    tests: reducer,
  },
  {
    fault: "a delta replaces the text instead of growing it",
    file: "reducer/live.ts",
    from: "text: old.text + text",
    to: "text",
    tests: reducer,
  },
  {
    fault: "a character that is split between two pieces is lost",
    file: "sse/frames.ts",
    from: "utf8.decode(bytes, { stream: true })",
    to: "utf8.decode(bytes)",
    tests: frames,
  },
  {
    fault: "a CRLF that is split between two pieces ends two lines",
    file: "sse/frames.ts",
    from: 'if (endedInReturn && text.startsWith("\\n")) text = text.slice(1);',
    to: "",
    tests: frames,
  },
  {
    fault: "a byte order mark is taken away anywhere",
    file: "sse/frames.ts",
    from: "if (!begun && text.startsWith(byteOrderMark))",
    to: "if (text.startsWith(byteOrderMark))",
    tests: frames,
  },
  {
    fault: "an id without data hands its number to the next frame",
    file: "sse/frames.ts",
    from: "    id = undefined;\n",
    to: "",
    tests: frames,
  },
  {
    fault: "the cursor is inclusive",
    file: "client/follow.ts",
    from: "if (item.event.seq <= cursor) continue;",
    to: "if (item.event.seq < cursor) continue;",
    tests: client,
  },
  {
    fault: "a reconnect begins where the first connection began",
    file: "client/follow.ts",
    from: "      cursor = item.event.seq;\n",
    to: "",
    tests: client,
  },
  {
    fault: "ids follow a clock that steps back",
    file: "ids.ts",
    from: "latest = Math.max(latest, now());",
    to: "latest = now();",
    tests: "ids.test.ts",
  },
  {
    fault: "a decoded event is a copy in another order",
    file: "events/index.ts",
    from: 'return { kind: "known", event: event as KnownEvent };',
    to: 'return { kind: "known", event: { ...event, data: data.data } as KnownEvent };',
    tests: "events/events.test.ts",
  },
];

interface Report {
  readonly passed: boolean;
  readonly failing: readonly string[];
}

interface VitestReport {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly title: string }[];
  }[];
}

const root = path.resolve(import.meta.dirname, "..");
const timeoutMs = 120_000;

/** The working tree is never touched: faults live and die in the copy. */
async function makeCopy(): Promise<string> {
  const copy = await mkdtemp(path.join(tmpdir(), "holdfast-mutants-"));
  await cp(path.join(root, "packages/protocol/src"), path.join(copy, "src"), { recursive: true });
  await symlink(path.join(root, "node_modules"), path.join(copy, "node_modules"));
  await writeFile(path.join(copy, "package.json"), '{ "type": "module" }');
  const config = {
    cacheDir: "./cache",
    test: { include: ["src/**/*.test.ts"], testTimeout: 60_000 },
  };
  await writeFile(path.join(copy, "vitest.config.js"), `export default ${JSON.stringify(config)};`);
  return copy;
}

async function runTests(copy: string, files: readonly string[]): Promise<Report> {
  const output = path.join(copy, "report.json");
  await rm(output, { force: true });
  const vitest = path.join(root, "node_modules/vitest/vitest.mjs");
  const flags = ["--root", copy, "--bail=1", "--reporter=json", `--outputFile=${output}`];
  const args = [vitest, "run", ...flags, ...files.map((file) => `src/${file}`)];
  const ended = await new Promise<string>((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: copy, stdio: "ignore", timeout: timeoutMs });
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(signal ?? String(code)));
  });
  const text = await readFile(output, "utf8").catch(() => null);
  if (text === null) throw new Error(`The tests of ${files.join(", ")} gave no report (${ended}).`);
  const report = JSON.parse(text) as VitestReport;
  const results = report.testResults.flatMap((each) => each.assertionResults);
  const failing = results.filter(({ status }) => status === "failed").map(({ title }) => title);
  return { passed: report.success && results.length > 0, failing };
}

/** The test that noticed, or why nothing can be said. */
async function tryMutant(copy: string, mutant: Mutant): Promise<{ killed: boolean; by: string }> {
  const file = path.join(copy, "src", mutant.file);
  const original = await readFile(file, "utf8");
  const places = original.split(mutant.from).length - 1;
  if (places !== 1)
    return { killed: false, by: `the text to replace stands ${places} times in ${mutant.file}` };
  await writeFile(
    file,
    original.replace(mutant.from, () => mutant.to),
  );
  try {
    const { passed, failing } = await runTests(copy, [mutant.tests]);
    if (passed) return { killed: false, by: "no test noticed" };
    const [first] = failing;
    return first === undefined
      ? { killed: false, by: "the tests did not run: the fault must be one that loads" }
      : { killed: true, by: first };
  } finally {
    await writeFile(file, original);
  }
}

async function main(): Promise<number> {
  const copy = await makeCopy();
  try {
    const sound = await runTests(copy, [...new Set(mutants.map(({ tests }) => tests))]);
    if (!sound.passed) {
      console.error(`The copy fails before anything is broken: ${sound.failing.join("; ")}`);
      return 1;
    }
    let survivors = 0;
    const width = Math.max(...mutants.map(({ fault }) => fault.length));
    for (const mutant of mutants) {
      const { killed, by } = await tryMutant(copy, mutant);
      if (!killed) survivors++;
      console.log(
        `${killed ? "killed  " : "SURVIVED"}  ${mutant.fault.padEnd(width)}  ${mutant.tests}: ${by}`,
      );
    }
    console.log(`\n${mutants.length - survivors} of ${mutants.length} faults noticed`);
    return survivors === 0 ? 0 : 1;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

process.exitCode = await main();
