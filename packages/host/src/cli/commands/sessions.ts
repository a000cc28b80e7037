import { type Client, findSessions, type Result, describeError, shortId } from "@holdfast/client";
import { sessionMode, type SessionView, sleep } from "@holdfast/protocol";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../command.ts";
import { chatStrings } from "../strings/chat.ts";
import { sessionTitle } from "../transcript/describe.ts";
import { sessionRow } from "../transcript/session-row.ts";
import { withHost } from "../connection/connect.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { columnsOf } from "../screen/screen.ts";
import { createPaint, type RenderStyle } from "../screen/paint.ts";
import { TranscriptDiffer } from "../transcript/pieces.ts";

interface SessionsCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  readonly style: RenderStyle;
  readonly words: readonly string[];
}

type SessionsAction = (call: SessionsCall) => Promise<number>;

const actions: Readonly<Record<string, SessionsAction>> = {
  list,
  show,
  search,
  rename,
  mode: switchMode,
  delete: (call) =>
    change(call, "active", "In the trash:", (id) => call.client.trashSession({ params: { id } })),
  restore: (call) =>
    change(call, "trash", "Back:", (id) => call.client.restoreSession({ params: { id } })),
  purge,
  "empty-trash": emptyTrash,
  branch,
  "stop-waiting": (call) =>
    change(call, "active", "No longer waiting:", (id) =>
      call.client.stopWaiting({ params: { id }, body: {} }),
    ),
};

export const sessions: Command = {
  usage: [
    "sessions list",
    "sessions show <session>",
    "sessions search <words>",
    "sessions rename <session> <title>",
    "sessions mode <session> plan|ask|edits|full",
    "sessions delete <session>",
    "sessions restore <session>",
    "sessions purge <session> --yes",
    "sessions empty-trash --yes",
    "sessions branch <session> [title]",
    "sessions stop-waiting <session>",
  ],
  about:
    "Works on sessions from the command line. A session is named by its id, the end of its id, or words of its title.",
  flags: {
    limit: { type: "string", value: "number", about: "how many to list, or entries to show (20)" },
    archived: { type: "boolean", about: "those that were archived" },
    trash: { type: "boolean", about: "those in the trash" },
    yes: { type: "boolean", about: "delete for good without asking again" },
    json: { type: "boolean", about: "a line of JSON for each" },
  },
  examples: [
    ["holdfast sessions list", "the newest first"],
    ["holdfast sessions show k3m9x2", "a conversation, by the end of its id"],
    ["holdfast sessions search tomatoes", "every place where the word was said"],
    ["holdfast sessions delete garden", "to the trash; restore brings it back"],
    ["holdfast sessions purge garden --yes", "out of the trash, for good"],
    [
      "holdfast sessions stop-waiting garden",
      "stop waiting for output of a host that is gone, or for a memory provider that is gone",
    ],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [name = "list", ...words] = given.words;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) {
      terminal.printError(
        `"sessions ${name}" is not known: ${Object.keys(actions).join(", ")} are.`,
      );
      return exit.misuse;
    }
    const { output, environment } = terminal;
    const style = { width: columnsOf(output, 100) - 1, paint: createPaint(output, environment) };
    return withHost(given, terminal, ({ client }) =>
      action({ client, terminal, given, style, words }),
    );
  },
};

function failed({ terminal }: SessionsCall, result: Result<unknown> & { ok: false }): number {
  terminal.printError(describeError(result.error));
  return exit.failed;
}

function limitOf({ given }: SessionsCall): number {
  const limit = Number(textFlag(given, "limit") ?? 20);
  return Number.isInteger(limit) ? Math.min(500, Math.max(1, limit)) : 20;
}

async function list(call: SessionsCall): Promise<number> {
  const { client, given, terminal, style } = call;
  const query = {
    limit: limitOf(call),
    ...(hasFlag(given, "archived") && { archived: true }),
    ...(hasFlag(given, "trash") && { trashed: true }),
  };
  const listed = await client.listSessions({ query });
  if (!listed.ok) return failed(call, listed);
  for (const session of listed.value.sessions) {
    if (hasFlag(given, "json")) terminal.print(cleanJson(session));
    else if (terminal.output.isTTY === true) terminal.print(sessionRow(session, style));
    else
      terminal.print(
        `${session.id}\t${new Date(session.sortAt).toISOString()}\t${sessionTitle(session)}`,
      );
  }
  if (listed.value.sessions.length === 0) terminal.printError("There are no sessions.");
  return exit.done;
}

async function show(call: SessionsCall): Promise<number> {
  const { client, given, terminal, style } = call;
  const session = await findOne(call, call.words.join(" "), "active");
  if (session === undefined) return exit.failed;
  const query = { limit: Math.max(2, limitOf(call)) };
  const read = await client.readSession({ params: { id: session.id }, query });
  if (!read.ok) return failed(call, read);
  if (hasFlag(given, "json")) {
    for (const entry of read.value.entries) terminal.print(cleanJson(entry));
    return exit.done;
  }
  const { entries, earlier } = read.value;
  terminal.print(
    style.paint("bold", sessionTitle(session)) + style.paint("dim", `  ${session.id}`),
  );
  if (earlier !== null) terminal.print(style.paint("dim", "… there is more above: --limit 500"));
  const { PlainRows } = await import("../transcript/rows.ts");
  const rows = new PlainRows();
  const pieces = new TranscriptDiffer().diff({ ...read.value, entries, gaps: [], readAgain: null });
  for (const piece of pieces) for (const row of rows.add(piece, style)) terminal.print(row);
  for (const row of rows.openRows(style)) terminal.print(row);
  return exit.done;
}

async function search(call: SessionsCall): Promise<number> {
  const { client, given, terminal, style, words } = call;
  const q = words.join(" ").slice(0, 200);
  if (q === "") return misuse(call, "sessions search needs words.");
  const result = await searchWhole(client, { q, limit: limitOf(call) });
  if (!result.ok) return failed(call, result);
  for (const hit of result.value.hits) {
    if (hasFlag(given, "json")) terminal.print(cleanJson(hit));
    else {
      const head = `${shortId(hit.sessionId)}  ${cleanLine(hit.title ?? "")}`;
      terminal.print(`${style.paint("bold", head)}\n    ${cleanLine(hit.snippet)}`);
      if (hit.alternative !== undefined) terminal.print(`    ${chatStrings.command.otherVersion}`);
    }
  }
  if (result.value["indexing"] === true)
    terminal.printError("There may be more: not all is indexed.");
  else if (result.value.hits.length === 0) terminal.printError("Nothing was found.");
  return exit.done;
}

const indexingPollMs = 250;
const maxPolls = 20;

/** A host that has just started may still be indexing what others wrote. */
async function searchWhole(client: Client, query: { q: string; limit: number }) {
  for (let attempt = 1; ; attempt += 1) {
    const found = await client.search({ query });
    if (!found.ok || found.value["indexing"] !== true || attempt === maxPolls) return found;
    await sleep(indexingPollMs);
  }
}

async function rename(call: SessionsCall): Promise<number> {
  const [query = "", ...rest] = call.words;
  const title = rest.join(" ");
  if (title === "") return misuse(call, "sessions rename needs a session and a title.");
  return change({ ...call, words: [query] }, "active", "Renamed:", (id) =>
    call.client.changeSession({ params: { id }, body: { title } }),
  );
}

async function switchMode(call: SessionsCall): Promise<number> {
  const mode = sessionMode.safeParse(call.words.at(-1)?.toLowerCase()).data;
  const words = call.words.slice(0, -1);
  if (mode === undefined || words.length === 0)
    return misuse(
      call,
      `sessions mode needs a session and one of ${sessionMode.options.join(", ")}.`,
    );
  return change({ ...call, words }, "active", `Now in ${mode} mode:`, (id) =>
    call.client.changeSession({ params: { id }, body: { mode } }),
  );
}

/** This cannot be undone, so it needs --yes, unlike moving to the trash. */
async function purge(call: SessionsCall): Promise<number> {
  const { client, terminal } = call;
  const session = await findOne(call, call.words.join(" "), "trash");
  if (session === undefined) return exit.failed;
  const name = `${sessionTitle(session)}  ${session.id}`;
  if (!hasFlag(call.given, "yes"))
    return misuse(call, `This deletes "${name}" for good. Add --yes to do it.`);
  const purged = await client.purgeSession({ params: { id: session.id } });
  if (!purged.ok) return failed(call, purged);
  terminal.print(`Deleted for good: ${name}`);
  return exit.done;
}

async function emptyTrash(call: SessionsCall): Promise<number> {
  const { client, terminal } = call;
  if (!hasFlag(call.given, "yes"))
    return misuse(call, "This deletes everything in the trash for good. Add --yes to do it.");
  const emptied = await client.emptyTrash();
  if (!emptied.ok) return failed(call, emptied);
  const { sessions: count } = emptied.value;
  terminal.print(`Deleted for good: ${count === 1 ? "1 session" : `${count} sessions`}.`);
  return exit.done;
}

async function branch(call: SessionsCall): Promise<number> {
  const [query = "", ...rest] = call.words;
  const body = rest.length === 0 ? {} : { title: rest.join(" ") };
  return change({ ...call, words: [query] }, "active", "Branched:", (id) =>
    call.client.branch({ params: { id }, body }),
  );
}

async function change(
  call: SessionsCall,
  shelf: "active" | "trash",
  label: string,
  apply: (id: SessionView["id"]) => Promise<Result<{ session: SessionView }>>,
): Promise<number> {
  const session = await findOne(call, call.words.join(" "), shelf);
  if (session === undefined) return exit.failed;
  const changed = await apply(session.id);
  if (!changed.ok) return failed(call, changed);
  call.terminal.print(
    `${label} ${sessionTitle(changed.value.session)}  ${changed.value.session.id}`,
  );
  return exit.done;
}

async function findOne(
  call: SessionsCall,
  query: string,
  shelf: "active" | "trash",
): Promise<SessionView | undefined> {
  const { terminal, style } = call;
  if (query === "") {
    terminal.printError("Which session? Name its id, the end of it, or words of its title.");
    return undefined;
  }
  const found = await findSessions(call.client, query, shelf);
  if (!found.ok) return void failed(call, found);
  const [session, ...others] = found.sessions;
  if (session !== undefined && others.length === 0) return session;
  const ambiguous = `More than one session fits "${query}":`;
  terminal.printError(session === undefined ? `No session fits "${query}".` : ambiguous);
  for (const candidate of found.sessions.slice(0, 20))
    terminal.printError(sessionRow(candidate, style));
  return undefined;
}

function misuse({ terminal }: SessionsCall, sentence: string): number {
  terminal.printError(sentence);
  return exit.misuse;
}
