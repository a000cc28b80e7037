import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { withoutFileHandles } from "@holdfast/testing/host/without-file-handles";
import { allowedEnvironment, type Command, runCommand } from "./run-command.ts";

function run(argv: Command["argv"], overrides: Partial<Command> = {}) {
  const environment = allowedEnvironment(process.env);
  const { signal } = new AbortController();
  return runCommand({
    argv,
    folder: tmpdir(),
    environment,
    timeLimitMs: 60_000,
    graceMs: 50,
    signal,
    ...overrides,
  });
}

/** Runs a shell script and cancels it once its output is as wanted. */
function cancelWhen(script: string, isWanted: (output: string) => boolean, keep?: number) {
  const cancel = new AbortController();
  let seen = "";
  let length = 0;
  const onOutput = (text: string): void => {
    length += text.length;
    seen = (seen + text).slice(0, 1_000);
    if (isWanted(seen) || length > 5_000_000) cancel.abort();
  };
  const { signal } = cancel;
  return run(["/bin/sh", "-c", script], { signal, onOutput, ...(keep && { keep }) });
}

/** A zombie counts as dead. */
function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^\d+ \(.*\) [ZX]/s.test(stat);
  } catch {
    return false;
  }
}

async function untilGone(pid: string): Promise<void> {
  await expect.poll(() => isRunning(Number(pid))).toBe(false);
}

test("[safety] arguments arrive unchanged, in the folder, without a shell", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-command-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const script = "process.stdout.write(JSON.stringify([process.argv.slice(1), process.cwd()]))";
  const args = ["$HOME", "a b", "; rm -rf /", ""];
  const end = await run([process.execPath, "-e", script, "--", ...args], { folder });
  expect(end).toMatchObject({ kind: "exited", code: 0 });
  expect(JSON.parse(end.output)).toEqual([args, folder]);
});

test("[safety] a command sees only the allowed environment, and no secret", async () => {
  const environment = allowedEnvironment({
    PATH: "/bin",
    HOLDFAST_TOKEN: "s",
    OPENAI_API_KEY: "k",
  });
  expect(environment).toEqual({ PATH: "/bin", TERM: "dumb" });
  const end = await run(["/usr/bin/env"], { environment });
  expect(end.output.split("\n").filter(Boolean).toSorted()).toEqual(["PATH=/bin", "TERM=dumb"]);
});

test.each([
  ["exit 3", { kind: "exited", code: 3 }],
  ["kill -9 $$", { kind: "killed", signal: "SIGKILL" }],
  ["echo out; echo err >&2", { kind: "exited", code: 0 }],
])("`%s` ends as expected", async (script, end) => {
  expect(await run(["/bin/sh", "-c", script])).toMatchObject(end);
});

test("a missing command and a missing folder are reported", async () => {
  expect(await run(["no-such-command-anywhere"])).toMatchObject({
    kind: "not_started",
    code: "ENOENT",
  });
  const folder = join(tmpdir(), "no-such-folder-anywhere");
  expect(await run(["/bin/ls"], { folder })).toMatchObject({ kind: "not_started" });
});

test("running out of file handles fails the command, not the host", () => {
  const module = new URL("./run-command.ts", import.meta.url);
  const start = `({ runCommand }) => runCommand({ argv: ["true"], folder: "/", environment: {},
    timeLimitMs: 1_000, signal: new AbortController().signal })`;
  const end = { kind: "not_started", code: "EMFILE", output: "" };
  expect(withoutFileHandles(module, start)).toEqual(end);
});

test("[P6] a process that ignores SIGTERM is killed after the grace period", async () => {
  const stubborn = 'trap "" TERM; echo "pid $$"; while :; do sleep 0.01; done';
  const end = await cancelWhen(stubborn, (output) => /pid \d+\n/.test(output));
  expect(end).toMatchObject({ kind: "stopped", why: "cancelled" });
  await untilGone(/pid (\d+)/.exec(end.output)?.[1] ?? "");
});

test("[P6] a cancel reaches all descendants of the command", async () => {
  const end = await cancelWhen(
    'sh -c "sleep 1000 & echo first \\$!; wait" & echo second $!; wait',
    (output) => /first \d+/.test(output) && /second \d+/.test(output),
  );
  expect(end).toMatchObject({ kind: "stopped", why: "cancelled" });
  await untilGone(/first (\d+)/.exec(end.output)?.[1] ?? "");
  await untilGone(/second (\d+)/.exec(end.output)?.[1] ?? "");
});

test("processes that a command leaves in its group end with it, and delay nothing", async () => {
  const end = await run(["/bin/sh", "-c", "sleep 1000 & echo $!"]);
  expect(end).toMatchObject({ kind: "exited", code: 0 });
  await untilGone(end.output.trim());
});

test("a command that exceeds its time limit is stopped", async () => {
  const end = await run(["/bin/sleep", "1000"], { timeLimitMs: 20 });
  expect(end).toEqual({ kind: "stopped", why: "time", output: "" });
});

test("the beginning and the end of endless output are kept, in bounded memory", async () => {
  const end = await cancelWhen("echo begin; yes", () => false, 1_000);
  expect(end).toMatchObject({ kind: "stopped", why: "cancelled" });
  expect(end.output.length).toBeLessThan(1_100);
  expect(end.output).toMatch(/^begin\ny\n[\s\S]*\[\d{6,} characters are left out here\]\n/);
});

test("invalid bytes become replacement characters, and a character split across reads stays whole", async () => {
  const end = await run(["/bin/sh", "-c", "printf '\\303'; printf '\\274 \\377\\376 \\000 ok'"]);
  expect(end.output).toBe("ü \uFFFD\uFFFD \0 ok");
});

test("a command cancelled before it starts is not started", async () => {
  const end = await run(["/bin/echo", "begun"], { signal: AbortSignal.abort() });
  expect(end).toEqual({ kind: "stopped", why: "cancelled", output: "" });
});
