import { realpathSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { SessionView } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { makeFolder, serveWithClient, valueOf } from "./served-host.ts";
import { startOnPipes, startOnTerminal } from "./terminal.ts";

type Host = Awaited<ReturnType<typeof serveWithClient>>;

const look = "{rate:1000} {tool:list_files {}}";

function makeProject(): string {
  const folder = realpathSync(makeFolder());
  writeFileSync(join(folder, "tides.txt"), "high and low\n");
  return folder;
}

async function runIn({ home }: Pick<Host, "home">, cwd: string, ...args: string[]) {
  const command = startOnPipes(args, { HOLDFAST_HOME: home }, cwd);
  command.endInput();
  const { code } = await command.exited;
  const notes = command
    .stderr()
    .split("\n")
    .filter((line) => line.startsWith("The session works"));
  return { code, said: command.stdout(), told: command.stderr(), notes };
}

async function sessionsOf({ client }: Host): Promise<readonly SessionView[]> {
  return valueOf(await client.listSessions({ query: {} })).sessions;
}

async function beginSessions(host: Host, count: number): Promise<void> {
  const timeout = 60_000;
  await expect.poll(async () => (await sessionsOf(host)).length, { timeout }).toBe(count);
}

test("run works in the current folder once it is allowed; before that it says how to allow it", async () => {
  const host = await serveWithClient();
  const project = makeProject();
  const before = await runIn(host, project, "run", look);
  expect([before.code, before.notes]).toEqual([
    0,
    [
      `The session works in a folder of its own, not in ${project}. To let it work here: holdfast workspaces allow ${project}`,
    ],
  ]);
  expect(before.said).not.toContain("tides.txt");
  expect(await runIn(host, project, "workspaces", "allow")).toMatchObject({ code: 0 });
  const after = await runIn(host, project, "run", look);
  expect([after.code, after.notes]).toEqual([0, []]);
  expect(after.said).toContain("tides.txt");
  const own = await runIn(host, project, "run", "--own-folder", look);
  expect([own.code, own.notes]).toEqual([0, []]);
  expect(own.said).not.toContain("tides.txt");
  expect((await sessionsOf(host)).map(({ workspace }) => workspace)).toEqual([null, project, null]);
}, 240_000);

test("[safety] a folder that was named and is not allowed ends the run before anything is sent", async () => {
  const host = await serveWithClient();
  const project = makeProject();
  for (const [folder, words] of [
    [project, `To allow it: holdfast workspaces allow ${project}`],
    ["/", "contains the home of Holdfast"],
    [homedir(), "home"],
    [host.home, "home of Holdfast"],
  ] as const) {
    const end = await runIn(host, project, "run", "--workspace", folder, look);
    expect([end.code, end.said]).toEqual([1, ""]);
    expect(end.told).toContain(words);
  }
  const both = await runIn(host, project, "run", "--own-folder", "--workspace", ".", look);
  expect(both.code).toBe(2);
  expect(await sessionsOf(host)).toEqual([]);
  expect(valueOf(await host.client.listFolders()).folders).toEqual([]);
}, 240_000);

test("[safety] where the operator names roots, only folders below them are used, and nobody is asked", async () => {
  const roots = makeProject();
  const host = await serveWithClient({ HOLDFAST_WORKSPACE_ROOTS: roots });
  const elsewhere = makeProject();
  const chat = startOnTerminal(["chat"], { HOLDFAST_HOME: host.home }, elsewhere);
  await chat.saying(/folder of its own/);
  expect(chat.stdout()).not.toContain("Let Holdfast work in");
  chat.type("\u0004");
  await chat.exited;
  expect((await runIn(host, roots, "run", look)).said).toContain("tides.txt");
}, 240_000);

test("chat asks once about the folder it starts in, and goes on there after a yes", async () => {
  const host = await serveWithClient();
  const settings = { HOLDFAST_HOME: host.home };
  const project = makeProject();
  const first = startOnTerminal(["chat"], settings, project);
  await first.saying(/Let Holdfast work in [^?]*\?[^]*\[y\/N\]/);
  first.type("no\r");
  await first.saying(/You did not allow it/);
  await first.saying(/›/);
  first.type("Hello {words:3}\r");
  await beginSessions(host, 1);
  first.type("\u0004");
  await first.exited;
  const second = startOnTerminal(["chat"], settings, project);
  await second.saying(/\[y\/N\]/);
  second.type("y\r");
  await second.saying(/Working in/);
  await second.saying(/›/);
  second.type("/new\r");
  await beginSessions(host, 2);
  second.type("\u0004");
  await second.exited;
  const third = startOnTerminal(["chat"], settings, project);
  await third.saying(/›/);
  expect(third.stdout()).not.toContain("[y/N]");
  third.type("Hello {words:3}\r");
  await beginSessions(host, 3);
  third.type("\u0004");
  await third.exited;
  const folders = (await sessionsOf(host)).map(({ workspace }) => workspace);
  expect(folders).toEqual([project, project, null]);
}, 240_000);

test("leaving at the question about the folder begins no session and allows nothing", async () => {
  const host = await serveWithClient();
  const chat = startOnTerminal(["chat"], { HOLDFAST_HOME: host.home }, makeProject());
  await chat.saying(/\[y\/N\]/);
  chat.type("\u0004");
  expect(await chat.exited).toMatchObject({ code: 1 });
  expect(await sessionsOf(host)).toEqual([]);
  expect(valueOf(await host.client.listFolders()).folders).toEqual([]);
}, 240_000);

test("run goes on in a session and moves it to the folder that is named", async () => {
  const host = await serveWithClient();
  const project = makeProject();
  valueOf(await host.client.allowFolder({ body: { path: project } }));
  const { session } = valueOf(await host.client.createSession({ body: {} }));
  const stays = await runIn(host, project, "run", "--session", session.id, look);
  expect([stays.notes, stays.said.includes("tides.txt")]).toEqual([[], false]);
  const args = ["--session", session.id, "--workspace", "."];
  expect((await runIn(host, project, "run", ...args, look)).said).toContain("tides.txt");
  expect((await sessionsOf(host)).map(({ workspace }) => workspace)).toEqual([project]);
}, 240_000);
