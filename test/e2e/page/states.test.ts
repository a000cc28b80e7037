import axe from "axe-core";
import { type EntryView, ids, sessionRead, type SessionId } from "@holdfast/protocol";
import { type SessionState } from "@holdfast/client";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { createPageRig } from "./page-rig.ts";
import { diagramAnswer, markdownAnswer } from "./sample-answers.ts";
import { followUntil, hasEnded } from "../served-host.ts";

const rig = createPageRig();
/** Where to save screenshots of the states, such as `docs/images`; unset, none are taken. */
const screenshotFolder = process.env["HOLDFAST_TEST_PICTURES"];
const sessions = new Map<string, SessionId>();

async function createSession(name: string, title: string, ...texts: string[]): Promise<void> {
  const created = await rig.client().createSession({ body: { title } });
  if (!created.ok) throw new Error(JSON.stringify(created.error));
  const { id } = created.value.session;
  sessions.set(name, id);
  for (const text of texts)
    await rig
      .client()
      .sendMessage({ params: { id }, body: { clientId: ids.make("message"), text } });
}

beforeAll(async () => {
  await createSession("stopped", "Tide tables", "Write the whole table {words:4000} {rate:80}");
  await createSession(
    "asking",
    "Tidy the workspace",
    'Look around {tool:terminal {"command":"ls -la"}}',
  );
  await createSession(
    "story",
    "Keep a service running",
    "How do I keep a small service running? {words:9}",
  );
  await createSession("drawn", "Why tides come twice", "Why do tides come twice a day? {words:9}");
  await createSession(
    "running",
    "A letter from the harbour",
    "Write a long letter {think:30} {words:9000} {rate:40}",
    "Then a shorter one",
    "And a title for both",
  );
  const client = rig.client();
  await client.createSchedule({
    body: {
      title: "Before the tide",
      prompt: "Read the tide table of today, and say when the harbour can be left.",
      times: { days: ["mon", "tue", "wed", "thu", "fri"], at: ["06:30", "18:00"] },
      timeZone: "Europe/Berlin",
      target: { sessionId: sessionNamed("stopped") },
      missed: "once",
    },
  });
  const until = (name: string, isReached: (state: SessionState) => boolean) =>
    followUntil(client, sessionNamed(name), isReached);
  await until("story", ({ run }) => run?.state === "completed");
  await until("drawn", ({ run }) => run?.state === "completed");
  const { run } = await until("stopped", ({ live }) => live?.messages.length === 1);
  if (run !== null) await client.cancelRun({ params: { id: run.id } });
  await until("stopped", hasEnded);
  await until("asking", (state) => state.run?.state === "waiting");
});

function sessionNamed(name: string): SessionId {
  const id = sessions.get(name);
  if (id === undefined) throw new Error(`no session ${name}`);
  return id;
}

/** Replaces the messages of a session, because the rehearsal model writes no tables or code. */
async function replaceConversation(
  tab: Page,
  name: string,
  question: string,
  answer: string,
): Promise<void> {
  const id = sessionNamed(name);
  await tab.route(`**/api/sessions/${id}`, async (route) => {
    const response = await route.fetch();
    const read = sessionRead.parse(await response.json());
    const entries = read.entries.map((entry): EntryView => {
      if (entry.type !== "message") return entry;
      const text = entry.role === "user" ? question : answer;
      return { ...entry, parts: [{ type: "text", text }] };
    });
    await route.fulfill({ response, json: { ...read, entries } });
  });
}

interface State {
  readonly name: string;
  readonly at: () => string;
  readonly show: (tab: Page) => Promise<void>;
  /** Set if the other size has no such state. */
  readonly only?: "desk" | "phone";
}

const at = (name: string) => () => `?session=${sessionNamed(name)}`;
const states: readonly State[] = [
  {
    name: "welcome",
    at: () => "",
    show: (tab) => tab.getByText("rehearsal model answers").waitFor(),
  },
  {
    name: "conversation",
    at: at("story"),
    show: (tab) => tab.locator(".code .hljs-attr").first().waitFor(),
  },
  {
    name: "drawing",
    at: at("drawn"),
    async show(tab) {
      await tab.locator(".formula.display").first().waitFor();
      await tab.getByRole("img", { name: "What pulls at the sea" }).waitFor();
    },
  },
  {
    name: "approval",
    at: at("asking"),
    show: (tab) => tab.getByRole("button", { name: "Allow once" }).waitFor(),
  },
  {
    name: "queue",
    at: at("running"),
    show: (tab) => tab.getByText("And a title for both").waitFor(),
  },
  {
    name: "stopped",
    at: at("stopped"),
    show: (tab) => tab.getByRole("button", { name: "Resume" }).waitFor(),
  },
  {
    name: "context",
    at: at("story"),
    async show(tab) {
      await tab.getByRole("button", { name: "Show context" }).click();
      await tab.getByRole("img", { name: /Cached share/ }).waitFor();
    },
  },
  {
    name: "recorder",
    at: at("stopped"),
    async show(tab) {
      await tab.getByRole("article", { name: "Assistant" }).hover();
      await tab.getByRole("button", { name: "Message actions" }).last().click();
      await tab.getByRole("menuitem", { name: "Run details" }).click();
      await tab.getByRole("img", { name: "Output over time" }).waitFor();
    },
  },
  {
    name: "palette",
    at: at("story"),
    async show(tab) {
      await tab.getByText("rehearsal").first().waitFor();
      await tab.keyboard.press("Control+k");
      await tab.getByRole("option").first().waitFor();
    },
  },
  {
    name: "settings",
    at: () => "?settings=models",
    show: (tab) => tab.getByText("Anthropic").first().waitFor(),
  },
  {
    name: "tools",
    at: () => "?settings=tools",
    show: (tab) => tab.getByText("No always-allowed rules.").waitFor(),
  },
  {
    name: "schedules",
    at: () => "?settings=schedules",
    show: (tab) => tab.getByRole("main").getByRole("link", { name: "Tide tables" }).waitFor(),
  },
  {
    name: "mcp",
    at: () => "?settings=mcp",
    show: (tab) => tab.getByText("No servers configured.").waitFor(),
  },
  {
    name: "gateway",
    at: () => "?settings=gateway",
    show: (tab) => tab.getByText("Connect a Telegram bot").waitFor(),
  },
  {
    name: "list",
    at: () => "?settings=gateway",
    only: "phone",
    async show(tab) {
      await tab.getByRole("button", { name: "Show conversations" }).click();
      await tab.getByRole("link", { name: /Tide tables/ }).waitFor();
    },
  },
  {
    name: "selecting",
    at: at("story"),
    only: "desk",
    async show(tab) {
      const list = tab.getByRole("navigation", { name: "Conversations" });
      await list.getByRole("link", { name: /Tide tables/ }).hover();
      await list.getByRole("button", { name: "Actions for Tide tables" }).click();
      await tab.getByRole("menuitem", { name: "Select several…" }).click();
      await list.getByRole("checkbox", { name: "Select Tidy the workspace" }).check();
      await list.getByText("2 selected").waitFor();
    },
  },
];

/** Violations of WCAG 2.2 A and AA. */
async function accessibilityViolations(tab: Page): Promise<string[]> {
  await tab.evaluate(axe.source);
  return tab.evaluate(async () => {
    // Loaded by the line above.
    const { axe: loadedAxe } = window as unknown as { axe: typeof axe };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const { violations } = await loadedAxe.run(document, {
      runOnly: { type: "tag", values: tags },
    });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
}

async function saveScreenshot(tab: Page, name: string): Promise<void> {
  if (screenshotFolder === undefined) return;
  mkdirSync(screenshotFolder, { recursive: true });
  await tab.screenshot({ path: join(screenshotFolder, `${name}.png`) });
}

const desk = { width: 1280, height: 800 };
const phone = { width: 360, height: 720 };

const variants = [
  ["light", "desk"],
  ["dark", "phone"],
  ["dark", "desk"],
  ["light", "phone"],
] as const;

// The first two cover both colour schemes and both sizes; the others are for screenshots.
const batches = (screenshotFolder === undefined ? variants.slice(0, 2) : variants).flatMap(
  ([colorScheme, size]) => {
    const applicable = states.filter(({ only = size }) => only === size);
    const batchSize = Math.ceil(applicable.length / 3);
    return [0, 1, 2].map((batch) => {
      const batchStates = applicable.slice(batch * batchSize, (batch + 1) * batchSize);
      const names = batchStates.map(({ name }) => name).join(", ");
      return { colorScheme, size, batchStates, names };
    });
  },
);

test.each(batches)(
  "these states fit the screen and are accessible: $colorScheme, $size, $names",
  async ({ colorScheme, size, batchStates }) => {
    const viewport = size === "desk" ? desk : phone;
    const { tab, consoleErrors } = await rig.openTab({
      colorScheme,
      viewport,
      reducedMotion: "reduce",
      ...(size === "phone" && { hasTouch: true, isMobile: true }),
    });
    await replaceConversation(
      tab,
      "story",
      "How do I keep a small service running?",
      markdownAnswer,
    );
    await replaceConversation(tab, "drawn", "Why do tides come twice a day?", diagramAnswer);
    const violations: string[] = [];
    for (const state of batchStates) {
      await tab.goto(new URL(state.at(), rig.address()).href);
      await state.show(tab);
      const width = await tab.evaluate(() => document.documentElement.scrollWidth);
      expect([state.name, width]).toEqual([state.name, viewport.width]);
      await saveScreenshot(tab, `${state.name}-${colorScheme}-${size}`);
      for (const violation of await accessibilityViolations(tab))
        violations.push(`${state.name}: ${violation}`);
    }
    expect([...violations, ...consoleErrors]).toEqual([]);
  },
);
