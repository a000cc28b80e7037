import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@holdfast/client";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import { hostScript, startProcess } from "@holdfast/testing/process/start-process";
import {
  followUntil,
  hasEnded,
  readLog,
  serveWithClient,
  textIn,
  valueOf,
  countWords,
  makeFolder,
  settingsFor,
} from "./served-host.ts";
import { pressOnLine, startOnPipes, startOnTerminal } from "./terminal.ts";

beforeEach(requirePage);

/** The first words of every answer, which no notice has. */
const answerBegins = /A holdfast is the part/;

/** One host for the tests that only talk to it. */
let shared: Awaited<ReturnType<typeof serveWithClient>>;
const onCleanup: (() => void | Promise<void>)[] = [];
beforeAll(async () => {
  shared = await serveWithClient({}, (end) => void onCleanup.push(end));
});
afterAll(async () => {
  for (const end of onCleanup) await end();
});

async function outcomeOf(args: string[], settings: Record<string, string>, typed = "") {
  const command = startOnPipes(args, settings);
  command.type(typed);
  command.endInput();
  const { code } = await command.exited;
  return { code, said: command.stdout(), told: command.stderr() };
}

test(
  "[P1] a run and a chat whose server is killed continue with the next one, exactly once; without one, the run says where it stands",
  { timeout: 240_000 },
  async () => {
    const first = await serveWithClient();
    const settings = { HOLDFAST_HOME: first.home };
    const announced = join(first.home, "running");
    const [file = ""] = readdirSync(announced);
    expect(statSync(join(announced, file)).mode & 0o777).toBe(0o600);

    const chat = startOnTerminal(["chat"], settings);
    await chat.saying(/›/);
    const command = startOnPipes(["run", "{rate:100} {words:600}"], settings);
    command.endInput();
    await command.saying(answerBegins);
    const before = command.stdout();
    chat.type("{rate:100} {words:500}\r");
    await chat.saying(/grips the rock/);
    await first.host.kill();
    await Promise.all([
      command.saying(/Waiting for the host…/),
      chat.saying(/Reconnecting to the host…|Disconnected\. Messages will be sent/),
    ]);
    chat.type("and then {words:3}\r");
    expect(readdirSync(announced)).toEqual([file]);

    // Another port: they find the host by its home, and ignore what the dead one left.
    const second = await serveWithClient(settings);
    expect(readdirSync(announced)).toEqual([`${second.host.pid}.json`]);
    expect(await command.exited).toEqual({ code: 0, signal: null });
    expect(command.stdout().startsWith(before)).toBe(true);
    expect(command.stderr().match(/Waiting for the host…/g)).toHaveLength(1);
    // The model was asked again from the beginning, and a pipe still gets the answer once.
    expect(command.stdout()).toBe(`${await answerOnceIn(second.client, 600)}\n`);

    await chat.saying(/A holdfast is\.\s/);
    chat.type("\u0004");
    expect(await chat.exited).toMatchObject({ code: 0 });

    const lost = startOnPipes(["run", "--wait", "0.2", "{rate:30} {words:500}"], settings);
    lost.endInput();
    await lost.saying(answerBegins);
    await second.host.kill();
    expect(await lost.exited).toEqual({ code: 7, signal: null });
    expect(lost.stderr()).toMatch(
      /did not come back\. Your message is saved; .* holdfast chat --session \w{6}\n/,
    );
  },
);

/** The only answer with this many words: its message was said once, and its run has completed once. */
async function answerOnceIn(client: Client, words: number): Promise<string> {
  const { sessions } = valueOf(await client.listSessions());
  for (const { id } of sessions) {
    const state = await followUntil(client, id, hasEnded);
    const said = state.entries.filter((entry) => entry.type === "message");
    const answer = said.findLast(({ role }) => role === "assistant");
    if (answer === undefined || countWords(textIn(answer)) !== words) continue;
    expect(said.filter(({ role }) => role === "user")).toHaveLength(1);
    const events = await readLog(client, id, state.seq);
    const ends = events.filter(
      ({ type, data }) => type === "run.state" && data["state"] === "completed",
    );
    expect(ends).toHaveLength(1);
    return textIn(answer);
  }
  throw new Error("There is no such answer.");
}

test("run answers in its own process without a server, from arguments, from a pipe, and as JSON", async () => {
  const settings = { HOLDFAST_HOME: makeFolder() };
  const piped = await outcomeOf(["run", "--json"], settings, "{words:3}\n");
  const frames = piped.said
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; seq?: number; sessionId?: string });
  expect(frames.at(0)).toMatchObject({ type: "accepted" });
  expect(frames.at(-1)).toMatchObject({ type: "ended", state: "completed", exitCode: 0 });
  const numbers = frames.slice(1, -1).flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
  expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));

  const session = frames.at(0)?.sessionId ?? "";
  const plain = await outcomeOf(["run", "--session", session.slice(-6), "{words:12}"], settings);
  expect(plain).toMatchObject({ code: 0, told: "" });
  expect(countWords(plain.said)).toBe(12);
});

test("Ctrl-C stops a run for good, and its exit code says so", async () => {
  const { home, client } = shared;
  const command = startOnPipes(["run", "{rate:30} {words:2000}"], { HOLDFAST_HOME: home });
  command.endInput();
  await command.saying(answerBegins);
  command.signal("SIGINT");
  expect(await command.exited).toEqual({ code: 3, signal: null });
  const [session] = valueOf(await client.listSessions()).sessions;
  expect(session).toMatchObject({ lastState: "cancelled", liveRun: null });
});

test("a list that nobody reads to its end exits quietly", async () => {
  const { home, client } = shared;
  valueOf(await client.createSession({ body: {} }));
  const main = [process.execPath, hostScript(), "sessions", "list"];
  const script = '"$@" | true; echo "left ${PIPESTATUS[0]}"';
  const command = startProcess(["-c", script, "sh", ...main], {
    command: "bash",
    env: settingsFor({ HOLDFAST_HOME: home }),
  });
  expect(await command.line((line) => line.startsWith("left "))).toBe("left 141");
  expect(command.stderr()).toBe("");
});

test("two chats and a host work on one file at once, and nothing is lost or said twice", async () => {
  const home = makeFolder();
  const settings = { HOLDFAST_HOME: home };
  // Both start before anybody serves, so each is its own host.
  const chats = ["one", "two"].map(() => startOnPipes(["chat"], settings));
  for (const [index, chat] of chats.entries()) chat.type(`{echo} chat ${index}\n`);
  await Promise.all(chats.map((chat, index) => chat.saying(new RegExp(`chat ${index}`))));
  const { client } = await serveWithClient(settings);
  for (const chat of chats) chat.type("{words:7}\n");
  const { session } = valueOf(await client.createSession({ body: {} }));
  valueOf(
    await client.sendMessage({
      params: { id: session.id },
      body: { clientId: "a", text: "{words:7}" },
    }),
  );
  await followUntil(client, session.id, hasEnded);
  for (const chat of chats) chat.endInput();
  for (const chat of chats) expect(await chat.exited).toEqual({ code: 0, signal: null });
  const { sessions } = valueOf(await client.listSessions());
  const counts = sessions.map(({ messageCount }) => messageCount).toSorted((a, b) => a - b);
  expect(counts).toEqual([2, 4, 4]);
});

test("a chat over pipes takes messages, commands and answers to approvals, line by line", async () => {
  const typed = [
    "{words:6}",
    "/udno",
    '{tool:terminal {"command":["echo","done it"]}}',
    "maybe",
    "once",
    '{tool:ask_user {"question":"Which colour?","choices":["red","blue"]}}',
    "2",
    "/title Garden",
    "/sessions",
    "//slash",
    "/quit",
    "never sent",
  ];
  const { code, said, told } = await outcomeOf(
    ["chat"],
    { HOLDFAST_HOME: makeFolder() },
    `${typed.join("\n")}\n`,
  );
  expect(code).toBe(0);
  expect(said).toContain("Did you mean /undo?");
  expect(told).toContain("terminal: echo 'done it'");
  expect(said).toContain("Please answer the question above first.");
  expect(said).toContain("answered “done it”");
  expect(told).toContain("? Which colour?");
  expect(said).toContain("answered “blue”");
  expect(said).toMatch(/› \w{6} .* Garden/);
  expect(said).not.toContain("never sent");
});

test("a chat on a terminal streams answers, ignores escape sequences in them, and stops and leaves by Ctrl-C", async () => {
  const { home, client } = shared;
  const chat = startOnTerminal(["chat"], { HOLDFAST_HOME: home });
  await chat.saying(/›/);
  // A paste of two lines is one message.
  chat.type("\u001b[200~first line\rsecond line {words:9}\u001b[201~");
  await chat.saying(/second line/);
  chat.type("\r");
  await chat.saying(/A holdfast is the part of a kelp that\./);

  const hostile = String.raw`{tool:terminal {"command":["printf","\\033]0;owned\\007\\033[2Jseen"]}}`;
  chat.type(`${hostile}\r`);
  await chat.saying(/Run this command\?/);
  chat.type("o\r");
  const said = await chat.saying(/␛\[2Jseen/);
  expect(said).not.toContain("\u001b]0;owned");
  expect(said).not.toContain("\u001b[2J");

  chat.type("{rate:20} {words:900}\r");
  await chat.saying(/owned[\s\S]+grips the rock/);
  chat.type("\u0003");
  await chat.saying(/■ Stopped\./);
  chat.type("\u0003");
  // Soon after the one that stopped, this Ctrl-C leaves; later it would ask for another.
  await chat.saying(/■ Stopped\.[\s\S]+Press Ctrl-C again to leave/).then(
    () => chat.type("\u0003"),
    () => undefined,
  );
  const { code } = await chat.exited;
  expect(code).toBe(0);
  expect(chat.stdout()).toMatch(/To continue here: holdfast chat --session \w{6}/);
  const [session] = valueOf(await client.listSessions()).sessions;
  expect(session).toMatchObject({ lastState: "cancelled" });
});

test("a chat on a dumb terminal moves no cursor, stops an answer by Ctrl-C and leaves by Ctrl-D", async () => {
  const { home, client } = shared;
  const chat = startOnTerminal(["chat"], { HOLDFAST_HOME: home, TERM: "dumb" });
  await chat.saying(/›/);
  chat.type("{words:9}\n");
  await chat.saying(/A holdfast is the part of a kelp that\.\s+› $/);
  chat.type("{rate:20} {words:900}\n");
  await chat.saying(/grips the rock/);
  pressOnLine.interrupt(chat);
  await chat.saying(/Stopping…[\s\S]+■ Stopped\.\s+› $/);
  pressOnLine.endOfInput(chat);
  expect(await chat.exited).toMatchObject({ code: 0 });
  expect(chat.stdout()).toMatch(/To continue here: holdfast chat --session \w{6}/);
  expect(chat.stdout()).not.toContain("\u001b");
  const [session] = valueOf(await client.listSessions()).sessions;
  expect(session).toMatchObject({ lastState: "cancelled" });
});
