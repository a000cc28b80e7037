/**
 * Counts the production files that one message passes: those with a function that runs between the POST and the
 * terminal frame of its run, without those that run at idle anyway. The same for a Telegram update and its reply.
 *
 *   npm run call-path [-- --root PATH] [--list]
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Readable } from "node:stream";
import { parseArgs } from "node:util";
import { botToken, FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";

const token = "a-token-for-counting-call-paths-only";
const rounds = 5;
const idleMs = 1_000;
/** Until every thread has woken up, and the search index has what was written. */
const settleMs = 700;
const lastEditMs = 2_500;
const recorder = fileURLToPath(new URL("./call-path/record-files.ts", import.meta.url));

interface Host extends AsyncDisposable {
  readonly call: (path: string, body?: object) => Promise<unknown>;
  readonly events: (path: string) => AsyncIterable<string>;
  /** The files of which something has run on the main thread since the last call. */
  readonly takeFiles: () => Promise<Set<string>>;
  /** The same for the store's threads, up to the last `takeFiles`. */
  readonly takeThreadFiles: () => Promise<Set<string>>;
}

async function serve(root: string, settings: Record<string, string>): Promise<Host> {
  const home = mkdtempSync(join(tmpdir(), "holdfast-call-path-"));
  const output = join(home, "files.log");
  const child = spawn(process.execPath, ["packages/host/src/main.ts", "serve"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    env: {
      ...process.env,
      // Threads that are given arguments of their own still read this.
      NODE_OPTIONS: `--import ${recorder}`,
      HOLDFAST_HOME: home,
      HOLDFAST_PORT: "0",
      HOLDFAST_TOKEN: token,
      CALL_PATH_OUTPUT: output,
      CALL_PATH_ROOT: root,
      ...settings,
    },
  });
  const base = `${await addressIn(child)}api`;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };

  async function call(path: string, body?: object): Promise<unknown> {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(base + path, { headers, ...init });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  return {
    call,
    async *events(path) {
      const response = await fetch(base + path, { headers });
      if (response.body === null) throw new Error(`${path}: no body`);
      yield* response.body.pipeThrough(new TextDecoderStream());
    },
    async takeFiles() {
      const taken = new Promise((done) => child.once("message", done));
      child.send("take");
      await taken;
      const lines = readFileSync(output, "utf8").split("\n").filter(Boolean);
      return new Set(lines.at(-1)?.split(" "));
    },
    async takeThreadFiles() {
      // A thread that sleeps in Atomics.wait hands over what it has when a write wakes it.
      await call("/sessions", {});
      await new Promise((done) => setTimeout(done, settleMs));
      const lines = readFileSync(`${output}.threads`, "utf8").split("\n").filter(Boolean);
      const newest = lines
        .map((line) => Number.parseInt(line, 10))
        .reduce((a, b) => Math.max(a, b));
      const files = lines.filter((line) => line.startsWith(`${newest} `));
      return new Set(files.flatMap((line) => line.split(" ").slice(1)));
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await new Promise((done) => child.once("exit", done));
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** The host prints where it is when it is ready. */
function addressIn({ stdout }: { readonly stdout: Readable | null }): Promise<string> {
  let printed = "";
  return new Promise((found) => {
    stdout?.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      const address = /(http:\/\/\S+?\/)#signin/.exec(printed)?.[1];
      if (address !== undefined) found(address);
    });
  });
}

async function waitUntil(isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await isTrue().catch(() => false))) {
    if (Date.now() > deadline) throw new Error("The host did not get there within a minute.");
    await new Promise((done) => setTimeout(done, 20));
  }
}

/** The files that run in each of several rounds: background work falls into some of them and not into others. */
async function measure(host: Host, act: () => Promise<void>): Promise<Set<string>> {
  // Once without measuring: what is loaded on first use is not part of the path.
  await act();
  let common: Set<string> | undefined;
  for (let round = 0; round < rounds; round += 1) {
    await host.takeFiles();
    await host.takeThreadFiles();
    await host.takeFiles();
    await new Promise((done) => setTimeout(done, idleMs));
    const idle = await host.takeFiles();
    await act();
    await new Promise((done) => setTimeout(done, settleMs));
    const busy = await host.takeFiles();
    const path = new Set([...without(busy, idle), ...(await host.takeThreadFiles())]);
    const before: Set<string> = common ?? path;
    common = new Set([...before].filter((file) => path.has(file)));
  }
  return common ?? new Set();
}

function without(files: Iterable<string>, others: ReadonlySet<string>): Set<string> {
  return new Set([...files].filter((file) => !others.has(file)));
}

async function measureMessage(root: string): Promise<Set<string>> {
  await using host = await serve(root, {});
  const made = (await host.call("/sessions", {})) as { session?: { id: string }; id?: string };
  const session = made.session?.id ?? made.id ?? "";
  let ends = 0;
  void (async () => {
    for await (const text of host.events(`/sessions/${session}/events?after=0`))
      ends += text.split('"state":"completed"').length - 1;
  })().catch(() => undefined);
  let sent = 0;
  return await measure(host, async () => {
    const before = ends;
    sent += 1;
    const message = { clientId: String(sent), text: "Hello {words:30}" };
    await host.call(`/sessions/${session}/messages`, message);
    await waitUntil(async () => ends > before);
  });
}

async function measureTelegram(root: string): Promise<Set<string>> {
  const platform = new FakeBotApi();
  await platform.start();
  try {
    await using host = await serve(root, {
      HOLDFAST_TELEGRAM_TOKEN: botToken,
      HOLDFAST_TELEGRAM_API_ROOT: platform.address,
      HOLDFAST_TELEGRAM_ALLOW: "7",
    });
    const answers = () => platform.messages.filter(({ from }) => from === "bot");
    return await measure(host, async () => {
      const before = answers().length;
      platform.say(7, "Hello {words:30}");
      await waitUntil(async () => answers().length > before);
      // The answer grows by edits, at most one a second. The last of them must not fall into the idle time that follows.
      let shown = "";
      let since = Date.now();
      await waitUntil(async () => {
        const now = JSON.stringify(answers());
        if (now !== shown) since = Date.now();
        shown = now;
        return Date.now() - since > lastEditMs;
      });
    });
  } finally {
    await platform.stop();
  }
}

const { values } = parseArgs({
  options: { root: { type: "string" }, list: { type: "boolean", default: false } },
});
const root = resolve(values.root ?? fileURLToPath(new URL("..", import.meta.url)));
const message = await measureMessage(root);
const telegram = await measureTelegram(root);
const lineCount = (files: Iterable<string>): number =>
  [...files].reduce(
    (sum, file) => sum + readFileSync(join(root, file), "utf8").split("\n").length,
    0,
  );
const beyond = without(telegram, message);
console.log(`One message: ${message.size} files, ${lineCount(message)} lines`);
console.log(
  `A Telegram update: ${telegram.size} files, ${beyond.size} of them not on a message's path`,
);
if (values.list) {
  for (const file of [...message].toSorted()) console.log(`  ${file}`);
  for (const file of [...beyond].toSorted()) console.log(`  + ${file}`);
}
