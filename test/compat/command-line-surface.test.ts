import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";

import { requirePage } from "../e2e/page/require-page.ts";
import { startHost, type OnCleanup } from "@holdfast/testing/process/start-process";
import { followUntil, hasEnded, serveWithClient, valueOf } from "../e2e/served-host.ts";
import { makeFolder, settingsFor } from "../e2e/served-host.ts";
import { startOnTerminal } from "../e2e/terminal.ts";
import { commandsIn, settingsIn, usagesIn } from "./command-help.ts";
import { schemaFacts } from "./facts.ts";
import { fileFacts } from "./files.ts";
import { invocations } from "./invocations.ts";
import { expectSurface } from "./surface.ts";

beforeEach(requirePage);

const parallelProcesses = 3;
let host: Awaited<ReturnType<typeof serveWithClient>>;
const ends: (() => void | Promise<void>)[] = [];
beforeAll(async () => {
  host = await serveHerons((end) => void ends.unshift(end));
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** A host with one session, in which search finds "herons". */
async function serveHerons(onCleanup?: OnCleanup) {
  const served = await serveWithClient({ HOLDFAST_MODEL: "rehearsal" }, onCleanup);
  const { client } = served;
  const { session } = valueOf(await client.createSession({ body: { title: "Herons" } }));
  const body = { clientId: "one", text: "herons {words:2}" };
  valueOf(await client.sendMessage({ params: { id: session.id }, body }));
  await followUntil(client, session.id, hasEnded);
  const findHerons = async () => valueOf(await client.search({ query: { q: "herons" } })).hits;
  await vi.waitUntil(async () => (await findHerons()).length > 0, { timeout: 40_000 });
  return served;
}

function start(args: readonly string[], home = host.home) {
  const env = settingsFor({ HOLDFAST_HOME: home, HOLDFAST_MODEL: "rehearsal" });
  return startHost(args, { env });
}

async function endOf(args: readonly string[], home?: string) {
  const command = start(args, home);
  const { code } = await command.exited;
  return { code, said: command.stdout(), told: command.stderr() };
}

async function saidBy(...args: string[]): Promise<string> {
  const { code, said, told } = await endOf(args);
  expect({ args, code, told }).toEqual({ args, code: 0, told: "" });
  return said;
}

async function inParallel<T, R>(all: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < all.length; index = next++)
      answers[index] = await act(all[index] as T);
  };
  await Promise.all(Array.from({ length: parallelProcesses }, work));
  return answers;
}

test("settings keep their file keys, variables and flags", async () => {
  const [table, schema] = await Promise.all([
    saidBy("config", "table"),
    saidBy("config", "schema"),
  ]);
  const rows = settingsIn(table).map(({ key, variable, flag }) => `${key} ${variable} --${flag}`);
  expectSurface("settings", [...rows, ...schemaFacts("config.json", JSON.parse(schema))]);
});

test("commands keep their names, usages and flags", async () => {
  const [script, table] = await Promise.all([
    saidBy("completion", "fish"),
    saidBy("config", "table"),
  ]);
  const settings = settingsIn(table).map(({ flag }) => flag);
  const facts = await inParallel([...commandsIn(script)], async ([command, flags]) => {
    const own = flags.filter(({ name }) => !settings.includes(name));
    // --help is answered only if the parser knows all other flags.
    const given = own.flatMap(({ name, takes }) =>
      takes === "nothing" ? [`--${name}`] : [`--${name}`, "1"],
    );
    const all = settings.flatMap((name) => [`--${name}`, "1"]);
    const help = await saidBy(command, ...given, ...all, "--help");
    return [
      ...usagesIn(help).map((usage) => `holdfast ${usage}`),
      ...own.map(({ name, takes }) => `holdfast ${command} --${name}: takes ${takes}`),
    ];
  });
  expectSurface("commands", facts.flat());
});

test("commands keep their exit codes", async () => {
  const { home } = await serveHerons();
  const ended = await inParallel(invocations, async (chain) => {
    const facts: string[] = [];
    for (const args of chain) {
      const { code } = await endOf(args, home);
      facts.push(exitFact(args, code));
    }
    return facts;
  });
  expectSurface("exit codes", ended.flat());
});

const exitFact = (args: readonly string[], code: number | null): string =>
  `${["holdfast", ...args].join(" ")}: ${code}`;

test("runs keep their exit codes", async () => {
  const limited = endOf(["run", "--spend-per-run", "0", "{words:2}"], makeFolder());
  const interrupted = interruptedCode();
  const cancelled = start(["run", slowly]);
  await cancelled.saying(answerBegins);
  cancelled.signal("SIGINT");
  expectSurface("exit codes of runs", [
    `cancelled: ${(await cancelled.exited).code}`,
    `limit: ${(await limited).code}`,
    `interrupted: ${await interrupted}`,
  ]);
});

const slowly = "{rate:20} {words:2000}";
/** The first words of every answer, which no notice has. */
const answerBegins = /A holdfast is the part/;

/** With `resume: off` the next host ends the run of a killed one. */
async function interruptedCode(): Promise<number | null> {
  const settings = {
    HOLDFAST_RESUME: "off",
    HOLDFAST_LEASE_MS: "1000",
    HOLDFAST_MODEL: "rehearsal",
  };
  const first = await serveWithClient(settings);
  const command = start(["run", "--wait", "60", slowly], first.home);
  await command.saying(answerBegins);
  await first.host.kill();
  await serveWithClient({ ...settings, HOLDFAST_HOME: first.home });
  return (await command.exited).code;
}

test("fsck keeps its exit codes", async () => {
  const home = makeFolder();
  await endOf(["run", "{words:2}"], home);
  const facts = [`clean: ${(await endOf(["fsck"], home)).code}`];
  const database = new DatabaseSync(join(home, "holdfast.db"));
  database.exec("UPDATE sessions SET message_count = message_count + 1");
  database.close();
  facts.push(
    `damaged: ${(await endOf(["fsck"], home)).code}`,
    `repaired: ${(await endOf(["fsck", "--rebuild"], home)).code}`,
    `failed: ${(await endOf(["fsck", "--store", "postgres://127.0.0.1:9/x"], home)).code}`,
  );
  expectSurface("exit codes of fsck", facts);
});

test("JSON output of commands keeps its fields", async () => {
  const commands = [
    ["run", "{words:2}"],
    ["sessions", "list"],
    ["sessions", "show", "herons"],
    ["sessions", "search", "herons"],
    ["schedules", "list"],
    ["config"],
    ["fsck"],
    ["doctor", "--port", "nonsense"],
  ];
  await endOf(["schedules", "add", "Look out", "--at", "08:00", "--zone", "UTC"]);
  const facts = await inParallel(commands, async (args) => {
    const { said } = await endOf([...args, "--json"]);
    return documentsIn(said).flatMap((document) => {
      const { type, v } = document as { type?: string; v?: number };
      // Lines without a version are not events but the command's own.
      const kind = args[0] === "run" && v === undefined ? ` ${type}` : "";
      return Object.keys(document).map((field) => `holdfast ${args.join(" ")}${kind}: ${field}`);
    });
  });
  expectSurface("command output", facts.flat());
});

/** Parses one document, a list of documents, or one document per line. */
function documentsIn(text: string): object[] {
  const isWhole = text.startsWith("[") || text.startsWith("{\n");
  const texts = isWhole ? [text] : text.trim().split("\n");
  return texts.flatMap((item) => JSON.parse(item) as object | object[]);
}

test("commands keep the names of files in the home", async () => {
  const home = makeFolder();
  await endOf(["config", "set", "model", "rehearsal"], home);
  await endOf(["config", "set", "token", "only-known-to-tests"], home);
  const chat = startOnTerminal(["chat"], { HOLDFAST_HOME: home });
  await chat.saying(/›/);
  chat.type("/usage\r");
  await chat.saying(/\$|[Tt]okens/);
  chat.type("\u0004");
  expect(await chat.exited).toMatchObject({ code: 0 });
  expectSurface("home of commands", fileFacts(home));
});
