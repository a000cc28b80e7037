import { readRereadCost } from "./reread-cost.ts";
import { readCurrentSession } from "./sessions.ts";
import {
  type CommandAnswer,
  refusalFrom,
  type CommandContext,
  type SessionChange,
  type SessionCommandContext,
  refuseCommand,
  idempotencyHeader,
} from "./command.ts";
import {
  type FactView,
  modeOf,
  type PersonaView,
  type ProcessView,
  type ProjectView,
  type SessionMode,
  sessionMode,
  type SessionView,
} from "@holdfast/protocol";

interface SessionPatch {
  readonly title?: string;
  readonly model?: string;
  readonly mode?: SessionMode;
  readonly persona?: string;
  readonly project?: string | null;
}

export async function readOrSetTitle(
  context: SessionCommandContext,
  title: string,
): Promise<CommandAnswer> {
  if (title === "") {
    const read = await readCurrentSession(context);
    if (!read.ok) return refusalFrom(read.error);
    return { kind: "title", title: read.value.session.title };
  }
  return changeSession(context, "titled", { title });
}

export async function readOrSetModel(
  context: SessionCommandContext,
  name: string,
): Promise<CommandAnswer> {
  if (name !== "") return changeSession(context, "model_chosen", { model: name });
  const [read, listed] = await Promise.all([
    readCurrentSession(context),
    context.client.listModels(),
  ]);
  if (!read.ok) return refusalFrom(read.error);
  if (!listed.ok) return refusalFrom(listed.error);
  const { usual, models } = listed.value;
  const usable = models.filter((item) => item.usable).map((item) => item.name);
  return { kind: "model", model: read.value.session.model, usual, models: usable, listed: models };
}

/** Which modes there are is checked where the command is parsed. */
export async function readOrSetMode(
  context: SessionCommandContext,
  name: string,
): Promise<CommandAnswer> {
  const mode = sessionMode.safeParse(name);
  if (mode.success) return changeSession(context, "mode_chosen", { mode: mode.data });
  const read = await readCurrentSession(context);
  if (!read.ok) return refusalFrom(read.error);
  return { kind: "mode", mode: modeOf(read.value.session) };
}

export async function readOrSetPersona(
  context: SessionCommandContext,
  name: string,
): Promise<CommandAnswer> {
  const [read, listed] = await Promise.all([
    readCurrentSession(context),
    context.client.listPersonas(),
  ]);
  if (!read.ok) return refusalFrom(read.error);
  if (!listed.ok) return refusalFrom(listed.error);
  const { personas } = listed.value;
  if (name === "") return describePersonas(personas, read.value.session);
  const persona = matchPersona(personas, name);
  if (persona === undefined) return refusePersona(name);
  return changeSession(context, "persona_chosen", { persona: persona.id });
}

/** The personas, and which of them a session has. */
export function describePersonas(
  personas: readonly PersonaView[],
  session: Pick<SessionView, "id" | "persona"> | { readonly id: null; readonly persona?: string },
): CommandAnswer {
  const chosen = personas.find(({ id }) => id === session.persona);
  const { id: current = "" } = chosen ?? personas.find(({ isDefault }) => isDefault) ?? {};
  return { kind: "persona", sessionId: session.id, personas, current };
}

/** The one that a person means: by its name, by the beginning of its name if no other begins so, or by its id. */
export function matchPersona(
  personas: readonly PersonaView[],
  wanted: string,
): PersonaView | undefined {
  const query = wanted.trim().toLowerCase();
  const exact = personas.find(({ id, name }) => id === query || name.toLowerCase() === query);
  const [found, ...others] = personas.filter(({ name }) => name.toLowerCase().startsWith(query));
  return exact ?? (others.length === 0 ? found : undefined);
}

export function refusePersona(name: string): CommandAnswer {
  return refuseCommand("persona_not_found", `No persona is called ${name}. /persona lists them.`);
}

/** Lists the projects, or moves the session. Where only some sessions are in reach, a project could add others. */
export async function readOrSetProject(
  context: SessionCommandContext,
  name: string,
): Promise<CommandAnswer> {
  const { client, mayReach, memory = "write", sessionId } = context;
  if (mayReach !== undefined || memory === "none")
    return refuseCommand("forbidden", "This chat may not read projects or move to one.");
  const [read, listed] = await Promise.all([readCurrentSession(context), client.listProjects()]);
  if (!read.ok) return refusalFrom(read.error);
  if (!listed.ok) return refusalFrom(listed.error);
  const { projects } = listed.value;
  if (name === "")
    return { kind: "project", sessionId, projects, current: read.value.session.project };
  if (name.toLowerCase() === "none")
    return changeSession(context, "project_chosen", { project: null });
  const found = matchProject(projects, name);
  if (found !== undefined) return changeSession(context, "project_chosen", { project: found.name });
  return refuseCommand("project_not_found", `No project is called ${name}. /project lists them.`);
}

/** The one that a person means: by its name, or by the beginning of its name if no other begins so. */
export function matchProject(
  projects: readonly ProjectView[],
  wanted: string,
): ProjectView | undefined {
  const query = wanted.trim().toLowerCase();
  const exact = projects.find(({ name }) => name.toLowerCase() === query);
  const [found, ...others] = projects.filter(({ name }) => name.toLowerCase().startsWith(query));
  return exact ?? (others.length === 0 ? found : undefined);
}

async function changeSession(
  context: SessionCommandContext,
  what: Extract<SessionChange, "titled" | `${string}_chosen`>,
  body: SessionPatch,
): Promise<CommandAnswer> {
  const { client, sessionId: id } = context;
  const { model: to } = body;
  // Read before the change: it says what the model has cached now.
  const reread = whatCosts.has(what)
    ? await readRereadCost(context, to === undefined ? {} : { to })
    : null;
  const changed = await client.changeSession({ params: { id }, body });
  if (!changed.ok) return refusalFrom(changed.error);
  const { session } = changed.value;
  return { kind: "changed", what, session, ...(reread !== null && { reread }) };
}

/** Each begins the conversation's prompt anew. */
const whatCosts: ReadonlySet<SessionChange> = new Set([
  "model_chosen",
  "persona_chosen",
  "project_chosen",
]);

const shownFacts = 10;

/** Lists what is remembered, or what of it has these words; `add` and `forget` change it. */
export async function readOrChangeMemory(
  context: CommandContext,
  argument: string,
): Promise<CommandAnswer> {
  const { client, memory = "write" } = context;
  const [, verb, rest = ""] = /^(?<verb>add|forget)\s+(?<rest>.+)$/isu.exec(argument) ?? [];
  if ((verb !== undefined && memory !== "write") || (argument !== "" && memory === "none"))
    return refuseCommand("forbidden", "This chat may not read or change what is remembered.");
  if (verb?.toLowerCase() === "add") {
    const headers = idempotencyHeader(context);
    const added = await client.addFact({ headers, body: { text: rest } });
    if (!added.ok) return refusalFrom(added.error);
    return { kind: "fact", what: "added", text: added.value.fact.text };
  }
  if (verb !== undefined) return forgetFact(context, rest);
  const [read, listed] = await Promise.all([
    client.readMemory(),
    memory === "none" ? null : client.listFacts({ query: { q: argument, limit: shownFacts } }),
  ]);
  if (!read.ok) return refusalFrom(read.error);
  if (listed !== null && !listed.ok) return refusalFrom(listed.error);
  const { sessions, turns, oldestAt, failing } = read.value.backlog;
  const { facts, total } = listed?.value ?? { facts: [], total: 0 };
  return { kind: "memory", sessions, turns, oldestAt, failing, facts, total, words: argument };
}

async function forgetFact({ client }: CommandContext, wanted: string): Promise<CommandAnswer> {
  const listed = await client.listFacts({ query: { limit: 500 } });
  if (!listed.ok) return refusalFrom(listed.error);
  const found = matchFacts(listed.value.facts, wanted);
  const [fact, ...others] = found;
  if (fact === undefined || others.length > 0)
    return refuseCommand(
      "fact_not_found",
      `${fact === undefined ? "No fact" : "More than one fact"} contains these words or has an id that begins with ${wanted}. /memory lists them.`,
    );
  const headers = { "if-match": fact.version };
  const removed = await client.removeFact({ params: { id: fact.id }, headers });
  if (!removed.ok) return refusalFrom(removed.error);
  return { kind: "fact", what: "deleted", text: fact.text };
}

/** `I like tea (needs your approval)`. */
export function describeFact({ text, state }: Pick<FactView, "text" | "state">): string {
  return state === "waiting" ? `${text} (needs your approval)` : text;
}

/** Facts that a person means: by the beginning of the id, by the whole text, or by words in it. */
export function matchFacts<F extends { readonly id: string; readonly text: string }>(
  facts: readonly F[],
  wanted: string,
): readonly F[] {
  const query = wanted.trim().toLowerCase();
  if (query === "") return [];
  const exact = facts.filter(({ text }) => text.toLowerCase() === query);
  if (exact.length > 0) return exact;
  return facts.filter(({ id, text }) => id.startsWith(query) || text.toLowerCase().includes(query));
}

export async function readUsage({
  client,
  sessionId,
  now,
}: CommandContext): Promise<CommandAnswer> {
  const today = new Date(now());
  const since = today.setHours(0, 0, 0, 0);
  const [all, day, own] = await Promise.all([
    client.readUsage(),
    client.readUsage({ query: { since } }),
    sessionId === null ? null : client.readUsage({ query: { sessionId } }),
  ]);
  if (!all.ok) return refusalFrom(all.error);
  if (!day.ok) return refusalFrom(day.error);
  if (own !== null && !own.ok) return refusalFrom(own.error);
  return {
    kind: "usage",
    session: own?.value.usage ?? null,
    today: day.value.usage,
    all: all.value.usage,
  };
}

export async function listSchedules(context: CommandContext): Promise<CommandAnswer> {
  const { client, lane, mayReach } = context;
  const listed = await client.listSchedules();
  if (!listed.ok) return refusalFrom(listed.error);
  const { schedules } = listed.value;
  if (mayReach === undefined) return { kind: "schedules", schedules };
  const isHere = await Promise.all(
    schedules.map(async ({ target }) =>
      "lane" in target ? target.lane === lane : mayReach(target.sessionId),
    ),
  );
  return { kind: "schedules", schedules: schedules.filter((_, index) => isHere[index]) };
}

/** Lists a session's background processes; with an id, or the end of one, stops that one. */
export async function listOrStopProcesses(
  context: SessionCommandContext,
  idSuffix: string,
): Promise<CommandAnswer> {
  const { client, sessionId: id } = context;
  const listed = await client.listProcesses({ params: { id } });
  if (!listed.ok) return refusalFrom(listed.error);
  const running = listed.value.processes.filter(({ state }) => state !== "ended");
  if (idSuffix === "") return { kind: "processes", processes: listed.value.processes };
  const [found, ...others] = running.filter((item) => item.id.endsWith(idSuffix));
  if (found === undefined || others.length > 0)
    return refuseCommand(
      "process_not_found",
      `${found === undefined ? "Nothing" : "More than one"} that runs here has an id that ends with ${idSuffix}.`,
    );
  const stopped = await client.stopProcess({
    params: { id: found.id },
    headers: idempotencyHeader(context),
  });
  if (!stopped.ok) return refusalFrom(stopped.error);
  return { kind: "processes", processes: [stopped.value.process] };
}

/** `npm test: running. To stop it: /processes 7k2x4m`, or how it ended and its id. */
export function describeProcess({ id, command, state, end }: ProcessView): string {
  if (end === null && state === "running")
    return `${command}: running. To stop it: /processes ${id.slice(-6)}`;
  return `${command}: ${end ?? "is being stopped"} (${id})`;
}
