import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { writeHermesHome } from "../../../../packages/host/test/support/hermes/cases.ts";
import type { Client, SessionState } from "@holdfast/client";
import { ids, type SessionId } from "@holdfast/protocol";
import { followUntil, hasEnded, valueOf } from "../../served-host.ts";

const sessions = new Map<string, SessionId>();

export function sessionNamed(name: string): SessionId {
  const id = sessions.get(name);
  if (id === undefined) throw new Error(`no session ${name}`);
  return id;
}

interface NewSession {
  readonly title: string;
  readonly workspace?: string;
  readonly mode?: "edits";
}

/** Everything that the states show: conversations, files, facts, personas and a schedule. */
export async function prepareStates(client: Client, folder: string): Promise<void> {
  async function begin(name: string, body: NewSession, ...texts: string[]): Promise<void> {
    const { session } = valueOf(await client.createSession({ body }));
    sessions.set(name, session.id);
    for (const text of texts)
      valueOf(
        await client.sendMessage({
          params: { id: session.id },
          body: { clientId: ids.make("message"), text },
        }),
      );
  }
  const until = (name: string, isReached: (state: SessionState) => boolean) =>
    followUntil(client, sessionNamed(name), isReached);

  await previewImport(client, join(folder, "hermes"));
  await begin("trashed", { title: "Plans of last year" });
  await begin("trashed-too", { title: "A list that is done" });
  for (const name of ["trashed", "trashed-too"])
    valueOf(await client.trashSession({ params: { id: sessionNamed(name) } }));
  await begin("stopped", { title: "Tide tables" }, "Write the whole table {words:4000} {rate:80}");
  await begin(
    "asking",
    { title: "Tidy the workspace" },
    'Look around and tell me what can go {tool:terminal {"command":"ls -la"}}',
  );
  const project = makeProject(folder);
  valueOf(await client.allowFolder({ body: { path: project } }));
  const change = {
    path: "src/tide.ts",
    old: "const low = 6;\nconst high = 12;",
    new: "const low = 6.2;\nconst high = 12.4;",
  };
  await begin(
    "changing",
    { title: "Correct the tide times", workspace: project },
    `The times are off by a little. Please correct them {tool:edit_file ${JSON.stringify(change)}}`,
  );
  const question = {
    question: "Which harbour should the table be for? **Cuxhaven** has the longest records.",
    choices: ["Cuxhaven", "Hamburg", "Kiel"],
  };
  await begin(
    "question",
    { title: "Which harbour" },
    `Make a table of next week {tool:ask_user ${JSON.stringify(question)}}`,
  );
  const todo = {
    items: [
      { text: "Read the tables of last year", state: "done" },
      { text: "Compare them with the forecast", state: "doing" },
      { text: "Write the report", state: "open" },
    ],
  };
  await begin(
    "tasks",
    { title: "Compare two years" },
    `Compare both years, step by step {tool:todo ${JSON.stringify(todo)}}`,
  );
  await begin(
    "story",
    { title: "Keep a service running" },
    "How do I keep a small service running? {words:9}",
  );
  await begin("drawn", { title: "Why tides come twice" }, "Why do tides come twice? {words:9}");
  await begin("edited", { title: "Which knot holds" }, "Which knot holds best? {words:9}");
  await until("edited", hasEnded);
  valueOf(
    await client.retry({
      params: { id: sessionNamed("edited") },
      headers: { "idempotency-key": ids.make("event") },
      body: { text: "Which knot holds best in wet rope? {words:9}" },
    }),
  );
  await begin(
    "running",
    { title: "A letter from the harbour" },
    "Write a long letter {think:30} {words:40000} {rate:40}",
    "Then a shorter one",
    "And a title for both",
  );
  await begin("changed", { title: "Round the times", mode: "edits" }, ...changingTurns);
  await prepareSettings(client);
  for (const name of ["story", "drawn", "edited", "tasks"]) await until(name, hasEnded);
  await until("changed", (state) => hasEnded(state) && state.inbox.length === 0);
  const { run } = await until("stopped", ({ live }) => live?.messages.length === 1);
  if (run !== null) await client.cancelRun({ params: { id: run.id } });
  await until("stopped", hasEnded);
  for (const name of ["asking", "changing", "question"])
    await until(name, (state) => state.run?.state === "waiting");
}

const table = ["# Tides", "", "| day | high | low |", "| --- | ---: | ---: |"];
const rows = Array.from({ length: 9 }, (_, day) => `| ${day + 1} | 12.4${day} | 6.2${day} |`);
const edited = { path: "tables/june.md", old: "| 3 | 12.42 | 6.22 |", new: "| 3 | 12.4 | 6.2 |" };
const notes = { path: "notes/rounding.md", content: "One digit is enough for a harbour.\n" };

/** Two turns: one makes a file, the other changes it, makes another one and sends it. */
const changingTurns = [
  `Make the table {tool:write_file ${JSON.stringify({ path: edited.path, content: [...table, ...rows, ""].join("\n") })}}`,
  `Round the third day {tool:edit_file ${JSON.stringify(edited)}}{tool:write_file ${JSON.stringify(notes)}}{tool:send_file {"path":"notes/rounding.md"}}`,
];

function makeProject(folder: string): string {
  const project = join(realpathSync(folder), "tides");
  mkdirSync(join(project, "src"), { recursive: true });
  mkdirSync(join(project, "charts"));
  writeFileSync(join(project, "README.md"), "# Tides\n\nHigh and low water, by harbour.\n");
  writeFileSync(
    join(project, "charts", "cuxhaven.csv"),
    "day,high,low\nMon,3.4,0.5\nTue,3.5,0.4\n",
  );
  writeFileSync(
    join(project, "src", "tide.ts"),
    "/** Hours between two waters. */\nconst low = 6;\nconst high = 12;\n\nexport { high, low };\n",
  );
  return project;
}

async function prepareSettings(client: Client): Promise<void> {
  valueOf(
    await client.createSchedule({
      body: {
        title: "Before the tide",
        prompt: "Read the tide table of today, and say when the harbour can be left.",
        times: { days: ["mon", "tue", "wed", "thu", "fri"], at: ["06:30", "18:00"] },
        timeZone: "Europe/Berlin",
        target: { sessionId: sessionNamed("stopped") },
        missed: "once",
      },
    }),
  );
  for (const text of [
    "The ferry to the island leaves at nine",
    "Prefers short answers with the numbers first",
    "Lives in Cuxhaven",
  ])
    valueOf(await client.addFact({ body: { text } }));
  valueOf(
    await client.changeInstructions({
      headers: { "if-match": 0 },
      body: { text: "Answer briefly. Give heights in metres and times in local time." },
    }),
  );
  valueOf(
    await client.addPersona({
      body: { name: "Pilot", text: "You are a harbour pilot. Safety first, then the schedule." },
    }),
  );
  valueOf(
    await client.addProject({
      body: { name: "Tide tables", text: "All heights refer to chart datum." },
    }),
  );
  valueOf(await client.createKey({ body: { name: "build-server" } }));
}

/** A report to look at, without sessions of its own. */
async function previewImport(client: Client, path: string): Promise<void> {
  writeHermesHome(path);
  const started = valueOf(
    await client.startImport({ body: { source: "hermes", path, mode: "dry" } }),
  );
  const params = { id: started.import.id };
  const isRunning = async () =>
    valueOf(await client.readImport({ params })).import.state === "running";
  while (await isRunning()) await setTimeout(20);
}
