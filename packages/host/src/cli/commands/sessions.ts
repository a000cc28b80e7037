import { type Client, findSessions, type Result, sentenceOf, shortId } from "@holdfast/client";
import { type SessionView } from "@holdfast/protocol";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../command.ts";
import { sessionRow, titleOf } from "../transcript/describe-session.ts";
import { pause } from "../connection/wait-for-host.ts";
import { withHost } from "../connection/connect.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { columnsOf } from "../screen/screen.ts";
import { type Look } from "../screen/markdown.ts";
import { paintFor } from "../screen/paint.ts";
import { Presenter } from "../transcript/present.ts";
import { RowMaker } from "../transcript/rows.ts";

interface Call {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  readonly look: Look;
  readonly words: readonly string[];
}

type Act = (call: Call) => Promise<number>;

const acts: Readonly<Record<string, Act>> = {
  list,
  show,
  search,
  rename,
  delete: (call) =>
    change(call, "active", "In the trash:", (id) => call.client.trashSession({ params: { id } })),
  restore: (call) =>
    change(call, "trash", "Back:", (id) => call.client.restoreSession({ params: { id } })),
  branch,
};

export const sessions: Command = {
  usage: [
    "sessions list",
    "sessions show <session>",
    "sessions search <words>",
    "sessions rename <session> <title>",
    "sessions delete <session>",
    "sessions restore <session>",
    "sessions branch <session> [title]",
  ],
  about:
    "Works on sessions from the command line. A session is named by its id, the end of its id, or words of its title.",
  flags: {
    limit: { type: "string", value: "number", about: "how many to list, or entries to show (20)" },
    archived: { type: "boolean", about: "those that were archived" },
    trash: { type: "boolean", about: "those in the trash" },
    json: { type: "boolean", about: "a line of JSON for each" },
  },
  examples: [
    ["holdfast sessions list", "the newest first"],
    ["holdfast sessions show k3m9x2", "a conversation, by the end of its id"],
    ["holdfast sessions search tomatoes", "every place where the word was said"],
    ["holdfast sessions delete garden", "to the trash; restore brings it back"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [name = "list", ...words] = given.words;
    const act = Object.hasOwn(acts, name) ? acts[name] : undefined;
    if (act === undefined) {
      terminal.complain(`"sessions ${name}" is not known: ${Object.keys(acts).join(", ")} are.`);
      return exit.misuse;
    }
    const { output, environment } = terminal;
    const look = { width: columnsOf(output, 100) - 1, paint: paintFor(output, environment) };
    return withHost(given, terminal, ({ client }) => act({ client, terminal, given, look, words }));
  },
};

function failed({ terminal }: Call, result: Result<unknown> & { ok: false }): number {
  terminal.complain(sentenceOf(result.error));
  return exit.failed;
}

function limitOf({ given }: Call): number {
  const limit = Number(textFlag(given, "limit") ?? 20);
  return Number.isInteger(limit) ? Math.min(500, Math.max(1, limit)) : 20;
}

async function list(call: Call): Promise<number> {
  const { client, given, terminal, look } = call;
  const query = {
    limit: limitOf(call),
    ...(hasFlag(given, "archived") && { archived: true }),
    ...(hasFlag(given, "trash") && { trashed: true }),
  };
  const listed = await client.listSessions({ query });
  if (!listed.ok) return failed(call, listed);
  for (const session of listed.value.sessions) {
    if (hasFlag(given, "json")) terminal.say(cleanJson(session));
    else if (terminal.output.isTTY === true) terminal.say(sessionRow(session, look));
    else
      terminal.say(`${session.id}\t${new Date(session.sortAt).toISOString()}\t${titleOf(session)}`);
  }
  if (listed.value.sessions.length === 0) terminal.complain("There are no sessions.");
  return exit.done;
}

async function show(call: Call): Promise<number> {
  const { client, given, terminal, look } = call;
  const session = await findOne(call, call.words.join(" "), "active");
  if (session === undefined) return exit.failed;
  const query = { limit: Math.max(2, limitOf(call)) };
  const read = await client.readSession({ params: { id: session.id }, query });
  if (!read.ok) return failed(call, read);
  if (hasFlag(given, "json")) {
    for (const entry of read.value.entries) terminal.say(cleanJson(entry));
    return exit.done;
  }
  const { entries, earlier } = read.value;
  terminal.say(look.paint("bold", titleOf(session)) + look.paint("dim", `  ${session.id}`));
  if (earlier !== null) terminal.say(look.paint("dim", "… there is more above: --limit 500"));
  const rows = new RowMaker();
  const pieces = new Presenter().present({ ...read.value, entries, gaps: [], readAgain: null });
  for (const piece of pieces) for (const row of rows.add(piece, look)) terminal.say(row);
  for (const row of rows.open(look)) terminal.say(row);
  return exit.done;
}

async function search(call: Call): Promise<number> {
  const { client, given, terminal, look, words } = call;
  const q = words.join(" ").slice(0, 200);
  if (q === "") return misuse(call, "sessions search needs words.");
  const found = await searchWhole(client, { q, limit: limitOf(call) });
  if (!found.ok) return failed(call, found);
  for (const hit of found.value.hits) {
    if (hasFlag(given, "json")) terminal.say(cleanJson(hit));
    else {
      const head = `${shortId(hit.sessionId)}  ${cleanLine(hit.title ?? "")}`;
      terminal.say(`${look.paint("bold", head)}\n    ${cleanLine(hit.snippet)}`);
    }
  }
  if (found.value["indexing"] === true) terminal.complain("There may be more: not all is indexed.");
  else if (found.value.hits.length === 0) terminal.complain("Nothing was found.");
  return exit.done;
}

const indexingMs = 250;
const mostLooks = 20;

/** A host that has just begun may still be indexing what others wrote. */
async function searchWhole(client: Client, query: { q: string; limit: number }) {
  for (let looks = 1; ; looks += 1) {
    const found = await client.search({ query });
    if (!found.ok || found.value["indexing"] !== true || looks === mostLooks) return found;
    await pause(indexingMs, new AbortController().signal);
  }
}

async function rename(call: Call): Promise<number> {
  const [asked = "", ...rest] = call.words;
  const title = rest.join(" ");
  if (title === "") return misuse(call, "sessions rename needs a session and a title.");
  return change({ ...call, words: [asked] }, "active", "Renamed:", (id) =>
    call.client.changeSession({ params: { id }, body: { title } }),
  );
}

async function branch(call: Call): Promise<number> {
  const [asked = "", ...rest] = call.words;
  const body = rest.length === 0 ? {} : { title: rest.join(" ") };
  return change({ ...call, words: [asked] }, "active", "Branched:", (id) =>
    call.client.branch({ params: { id }, body }),
  );
}

async function change(
  call: Call,
  shelf: "active" | "trash",
  words: string,
  act: (id: SessionView["id"]) => Promise<Result<{ session: SessionView }>>,
): Promise<number> {
  const session = await findOne(call, call.words.join(" "), shelf);
  if (session === undefined) return exit.failed;
  const changed = await act(session.id);
  if (!changed.ok) return failed(call, changed);
  call.terminal.say(`${words} ${titleOf(changed.value.session)}  ${changed.value.session.id}`);
  return exit.done;
}

async function findOne(
  call: Call,
  asked: string,
  shelf: "active" | "trash",
): Promise<SessionView | undefined> {
  const { terminal, look } = call;
  if (asked === "") {
    terminal.complain("Which session? Name its id, the end of it, or words of its title.");
    return undefined;
  }
  const found = await findSessions(call.client, asked, shelf);
  if (!found.ok) return void failed(call, found);
  const [session, ...others] = found.sessions;
  if (session !== undefined && others.length === 0) return session;
  const many = `More than one session fits "${asked}":`;
  terminal.complain(session === undefined ? `No session fits "${asked}".` : many);
  for (const each of found.sessions.slice(0, 20)) terminal.complain(sessionRow(each, look));
  return undefined;
}

function misuse({ terminal }: Call, sentence: string): number {
  terminal.complain(sentence);
  return exit.misuse;
}
