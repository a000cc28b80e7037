import { findSessions, type Client, type Result, shortId } from "@holdfast/client";
import { sessionMode, type SessionView, sleep } from "@holdfast/protocol";
import { type ActionCall, failed, misuse, runAction } from "../actions.ts";
import { type Command, exit, hasFlag, type Terminal, textFlag } from "../command.ts";
import { chatStrings } from "../strings/chat.ts";
import { programStrings } from "../strings/program.ts";
import { sessionsStrings as texts } from "../strings/sessions.ts";
import { sessionTitle } from "../transcript/describe.ts";
import { sessionRow } from "../transcript/session-row.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { columnsOf } from "../screen/screen.ts";
import { createPaint, type RenderStyle } from "../screen/paint.ts";
import { TranscriptDiffer } from "../transcript/pieces.ts";

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
  about: texts.about,
  flags: {
    limit: { type: "string", value: "number", about: texts.flags.limit },
    archived: { type: "boolean", about: texts.flags.archived },
    trash: { type: "boolean", about: texts.flags.trash },
    yes: { type: "boolean", about: texts.flags.yes },
    json: { type: "boolean", about: programStrings.flags.json },
  },
  examples: [
    ["holdfast sessions list", texts.examples.list],
    ["holdfast sessions show k3m9x2", texts.examples.show],
    ["holdfast sessions search tomatoes", texts.examples.search],
    ["holdfast sessions delete garden", texts.examples.delete],
    ["holdfast sessions purge garden --yes", texts.examples.purge],
    ["holdfast sessions stop-waiting garden", texts.examples.stopWaiting],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "sessions", usual: "list", actions }),
};

const actions = {
  list,
  show,
  search,
  rename,
  mode: switchMode,
  delete: (call: ActionCall) =>
    change(call, "active", texts.done.delete, (id) => call.client.trashSession({ params: { id } })),
  restore: (call: ActionCall) =>
    change(call, "trash", texts.done.restore, (id) =>
      call.client.restoreSession({ params: { id } }),
    ),
  purge,
  "empty-trash": emptyTrash,
  branch,
  "stop-waiting": (call: ActionCall) =>
    change(call, "active", texts.done.stopWaiting, (id) =>
      call.client.stopWaiting({ params: { id }, body: {} }),
    ),
};

function styleOf({ output, environment }: Terminal): RenderStyle {
  return { width: columnsOf(output, 100) - 1, paint: createPaint(output, environment) };
}

const maxLimit = 500;

function limitOf({ given }: ActionCall): number {
  const limit = Number(textFlag(given, "limit") ?? 20);
  return Number.isInteger(limit) ? Math.min(maxLimit, Math.max(1, limit)) : 20;
}

async function list(call: ActionCall): Promise<number> {
  const { client, given, terminal } = call;
  const style = styleOf(terminal);
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
  if (listed.value.sessions.length === 0) terminal.printError(noneText(call));
  return exit.done;
}

function noneText({ given }: ActionCall): string {
  if (hasFlag(given, "trash")) return texts.trashEmpty;
  return hasFlag(given, "archived") ? texts.noneArchived : texts.none;
}

async function show(call: ActionCall): Promise<number> {
  const { client, given, terminal } = call;
  const style = styleOf(terminal);
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
  if (earlier !== null) terminal.print(style.paint("dim", texts.earlier));
  const { PlainRows } = await import("../transcript/rows.ts");
  const rows = new PlainRows();
  const pieces = new TranscriptDiffer().diff({ ...read.value, entries, gaps: [], readAgain: null });
  for (const piece of pieces) for (const row of rows.add(piece, style)) terminal.print(row);
  for (const row of rows.openRows(style)) terminal.print(row);
  return exit.done;
}

async function search(call: ActionCall): Promise<number> {
  const { client, given, terminal, words } = call;
  const style = styleOf(terminal);
  const q = words.join(" ").slice(0, 200);
  if (q === "") return misuse(call, texts.wordsMissing);
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
  if (result.value["indexing"] === true) terminal.printError(texts.indexing);
  else if (result.value.hits.length === 0) terminal.printError(texts.noHits);
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

async function rename(call: ActionCall): Promise<number> {
  const [query = "", ...rest] = call.words;
  const title = rest.join(" ");
  if (title === "") return misuse(call, texts.renameNeedsBoth);
  return change({ ...call, words: [query] }, "active", texts.done.rename, (id) =>
    call.client.changeSession({ params: { id }, body: { title } }),
  );
}

async function switchMode(call: ActionCall): Promise<number> {
  const mode = sessionMode.safeParse(call.words.at(-1)?.toLowerCase()).data;
  const words = call.words.slice(0, -1);
  if (mode === undefined || words.length === 0)
    return misuse(call, texts.modeNeedsBoth(sessionMode.options));
  return change({ ...call, words }, "active", texts.done.mode(mode), (id) =>
    call.client.changeSession({ params: { id }, body: { mode } }),
  );
}

/** This cannot be undone, so it needs --yes, unlike moving to the trash. */
async function purge(call: ActionCall): Promise<number> {
  const { client, terminal } = call;
  const session = await findOne(call, call.words.join(" "), "trash");
  if (session === undefined) return exit.failed;
  const name = `${sessionTitle(session)}  ${session.id}`;
  if (!hasFlag(call.given, "yes")) return misuse(call, texts.confirmPurge(name));
  const purged = await client.purgeSession({ params: { id: session.id } });
  if (!purged.ok) return failed(call, purged);
  terminal.print(`${texts.done.purge} ${name}`);
  return exit.done;
}

async function emptyTrash(call: ActionCall): Promise<number> {
  const { client, terminal } = call;
  if (!hasFlag(call.given, "yes")) return misuse(call, texts.confirmEmptyTrash);
  const emptied = await client.emptyTrash();
  if (!emptied.ok) return failed(call, emptied);
  terminal.print(texts.done.emptyTrash(emptied.value.sessions));
  return exit.done;
}

async function branch(call: ActionCall): Promise<number> {
  const [query = "", ...rest] = call.words;
  const body = rest.length === 0 ? {} : { title: rest.join(" ") };
  return change({ ...call, words: [query] }, "active", texts.done.branch, (id) =>
    call.client.branch({ params: { id }, body }),
  );
}

async function change(
  call: ActionCall,
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
  call: ActionCall,
  query: string,
  shelf: "active" | "trash",
): Promise<SessionView | undefined> {
  const { terminal } = call;
  if (query === "") return void misuse(call, texts.nameMissing);
  const found = await findSessions(call.client, query, shelf);
  if (!found.ok) return void failed(call, found);
  const [session, ...others] = found.sessions;
  if (session !== undefined && others.length === 0) return session;
  const none = shelf === "trash" ? texts.noTrashMatch : texts.noMatch;
  misuse(call, session === undefined ? none(query) : texts.severalMatch(query));
  for (const candidate of found.sessions.slice(0, 20))
    terminal.printError(sessionRow(candidate, styleOf(terminal)));
  return undefined;
}
