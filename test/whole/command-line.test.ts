import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { requirePage } from "../support/page.ts";
import { followUntil, hasEnded, readLog, serve, valueOf, wordsIn } from "./client.ts";
import { makeFolder } from "./host.ts";
import { startOnPipes, startOnTerminal } from "./terminal.ts";

beforeEach(requirePage);

async function outcomeOf(args: string[], settings: Record<string, string>, typed = "") {
  const command = startOnPipes(args, settings);
  command.type(typed);
  command.endInput();
  const { code } = await command.exited;
  return { code, said: command.stdout(), told: command.stderr() };
}

test("[P1] a run whose server is killed waits for the next one and finishes there, exactly once", async () => {
  const first = await serve();
  const settings = { HOLDFAST_HOME: first.home };
  const command = startOnPipes(["run", "{rate:60} {words:150}"], settings);
  command.endInput();
  const before = await command.saying(/\w+ \w+ \w+ \w+/);
  await first.host.kill();
  await command.saying(/does not answer/);

  // Another port: the command finds the host by its home.
  const second = await serve(settings);
  expect(await command.exited).toEqual({ code: 0, signal: null });
  expect(command.stdout().startsWith(before)).toBe(true);

  const [session] = valueOf(await second.client.listSessions()).sessions;
  if (session === undefined) throw new Error("There is no session.");
  const state = await followUntil(second.client, session.id, hasEnded);
  const asked = state.entries.filter((entry) => entry.type === "message" && entry.role === "user");
  expect(asked).toHaveLength(1);
  const events = await readLog(second.client, session.id, state.seq);
  const ends = events.filter(
    ({ type, data }) => type === "run.state" && data["state"] === "completed",
  );
  expect(ends).toHaveLength(1);
  const last = state.entries.findLast((entry) => entry.type === "message");
  const answer =
    last?.type === "message"
      ? last.parts.flatMap((part) => (part.type === "text" ? [part.text] : []))
      : [];
  expect(wordsIn(answer.join(""))).toBe(150);
  // The model was asked again from the beginning, and a pipe still gets the answer once.
  expect(command.stdout()).toBe(`${answer.join("")}\n`);
  expect(command.stderr().match(/does not answer/g)).toHaveLength(1);
});

test("a run whose server does not come back ends after its bound, and says where the message is", async () => {
  const { host, home } = await serve();
  const command = startOnPipes(["run", "--wait", "0.2", "{rate:30} {words:500}"], {
    HOLDFAST_HOME: home,
  });
  command.endInput();
  await command.saying(/\w+ \w+/);
  await host.kill();
  expect(await command.exited).toEqual({ code: 7, signal: null });
  expect(command.stderr()).toMatch(/holdfast chat --session \w{6} shows/);
});

test("run answers in its own process where nobody serves, from words, from a pipe, and as JSON", async () => {
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
  expect(wordsIn(plain.said)).toBe(12);

  const failing = await outcomeOf(["run", "{fail:400}"], settings);
  expect(failing).toMatchObject({ code: 1 });
  const asking = await outcomeOf(["run", '{tool:terminal {"command":["ls","a b"]}}'], settings);
  expect(asking.code).toBe(6);
  expect(asking.told).toContain("terminal: ls 'a b'");
  expect(await outcomeOf(["run"], settings)).toMatchObject({ code: 2 });
});

test("Ctrl-C stops a run for good, and its exit code says so", async () => {
  const { home, client } = await serve();
  const command = startOnPipes(["run", "{rate:30} {words:2000}"], { HOLDFAST_HOME: home });
  command.endInput();
  await command.saying(/\w+ \w+/);
  command.signal("SIGINT");
  expect(await command.exited).toEqual({ code: 3, signal: null });
  const [session] = valueOf(await client.listSessions()).sessions;
  expect(session).toMatchObject({ lastState: "cancelled", liveRun: null });
});

test("a host leaves word of itself for its owner alone and takes it back; what a dead one left is ignored", async () => {
  const { host, home } = await serve();
  const folder = join(home, "running");
  const [file = ""] = readdirSync(folder);
  expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
  await host.kill();
  expect(readdirSync(folder)).toEqual([file]);
  const chat = await outcomeOf(["run", "{words:4}"], { HOLDFAST_HOME: home });
  expect(wordsIn(chat.said)).toBe(4);
  const next = await serve({ HOLDFAST_HOME: home });
  expect(readdirSync(folder)).toEqual([`${next.host.pid}.json`]);
  next.host.signal("SIGTERM");
  await next.host.exited;
  expect(readdirSync(folder)).toEqual([]);
});

test("two chats and a host work on one file at once, and nothing is lost or said twice", async () => {
  const home = makeFolder();
  const settings = { HOLDFAST_HOME: home };
  // Both begin before anybody serves, so each is a host of its own.
  const chats = ["one", "two"].map(() => startOnPipes(["chat"], settings));
  for (const [index, chat] of chats.entries()) chat.type(`{echo} chat ${index}\n`);
  await Promise.all(chats.map((chat, index) => chat.saying(new RegExp(`chat ${index}`))));
  const { client } = await serve(settings);
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

test("a chat over pipes takes messages, commands and words about what asks, line by line", async () => {
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
  expect(said).toContain("neither yes nor no");
  expect(said).toContain("answered “done it”");
  expect(told).toContain("? Which colour?");
  expect(said).toContain("answered “blue”");
  expect(said).toMatch(/› \w{6} .* Garden/);
  expect(said).not.toContain("never sent");
});

test("a chat on a terminal shows answers as they grow, obeys nothing in them, stops and leaves by Ctrl-C", async () => {
  const { home, client } = await serve();
  const chat = startOnTerminal(["chat"], { HOLDFAST_HOME: home });
  await chat.saying(/› /);
  // A paste of two lines is one message.
  chat.type("\u001b[200~first line\rsecond line {words:9}\u001b[201~");
  await chat.saying(/second line/);
  chat.type("\r");
  await chat.saying(/A holdfast is the part of a kelp that\./);

  const hostile = String.raw`{tool:terminal {"command":["printf","\\033]0;owned\\007\\033[2Jseen"]}}`;
  chat.type(`${hostile}\r`);
  await chat.saying(/May this run\?/);
  chat.type("o\r");
  const said = await chat.saying(/␛\[2Jseen/);
  expect(said).not.toContain("\u001b]0;owned");
  expect(said).not.toContain("\u001b[2J");

  chat.type("{rate:20} {words:900}\r");
  await chat.saying(/owned[\s\S]+grips the rock/);
  chat.type("\u0003");
  await chat.saying(/■ Stopped\./);
  chat.type("\u0003");
  chat.type("\u0003");
  const { code } = await chat.exited;
  expect(code).toBe(0);
  expect(chat.stdout()).toMatch(/holdfast chat --session \w{6} comes back here/);
  const [session] = valueOf(await client.listSessions()).sessions;
  expect(session).toMatchObject({ lastState: "cancelled" });
});

test("a chat goes on with its session after its server was killed and has come back", async () => {
  const first = await serve();
  const settings = { HOLDFAST_HOME: first.home };
  const chat = startOnTerminal(["chat"], settings);
  await chat.saying(/› /);
  chat.type("{rate:60} {words:100}\r");
  await chat.saying(/grips the rock/);
  await first.host.kill();
  await chat.saying(/The host (does not answer|is away)/);
  chat.type("and then {words:3}\r");
  await serve(settings);
  await chat.saying(/A holdfast is\.\s/);
  chat.type("\u0004");
  expect(await chat.exited).toMatchObject({ code: 0 });
});
