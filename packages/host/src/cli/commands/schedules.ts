import {
  type Client,
  findSessions,
  type Result,
  describeSchedule,
  describeError,
  shortId,
} from "@holdfast/client";
import { fieldErrors, routes, type ScheduleBody, type ScheduleView } from "@holdfast/protocol";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../command.ts";
import { withHost } from "../connection/connect.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";

interface SchedulesCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  readonly words: readonly string[];
}

const actions: Readonly<Record<string, (call: SchedulesCall) => Promise<number>>> = {
  list,
  add,
  on: (call) => setState(call, "on"),
  off: (call) => setState(call, "off"),
  remove,
};

export const schedules: Command = {
  usage: [
    "schedules list",
    "schedules add <prompt> --at <times> [--session <session>]",
    "schedules on <schedule>",
    "schedules off <schedule>",
    "schedules remove <schedule>",
  ],
  about:
    "Prompts that are said by themselves at certain times, while a host serves. A schedule is named by its id, the end of it, or words of its title.",
  flags: {
    at: { type: "string", value: "times", about: "when, like 08:00 or 08:00,20:00" },
    days: { type: "string", value: "days", about: "on which, like mon,fri (every day)" },
    date: { type: "string", value: "date", about: "once, on a day like 2026-12-24" },
    zone: { type: "string", value: "time zone", about: "like Europe/Berlin (this machine's)" },
    session: {
      type: "string",
      value: "id or title",
      about: "where it is said (a conversation of its own)",
    },
    lane: {
      type: "string",
      value: "lane",
      about: "or in which chat, as holdfast gateway lists it",
    },
    title: { type: "string", value: "title", about: "what it is called (the prompt's beginning)" },
    missed: { type: "string", value: "skip|once", about: "what becomes of missed times (skip)" },
    json: { type: "boolean", about: "a line of JSON for each" },
  },
  examples: [
    ["holdfast schedules", "what is said, and when"],
    [
      'holdfast schedules add "What is new in the inbox?" --at 08:00 --days mon,fri --session garden',
      "on Mondays and Fridays, in this session",
    ],
    ["holdfast schedules off inbox", "not for now; on brings it back"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [name = "list", ...words] = given.words;
    const act = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (act === undefined) {
      terminal.printError(
        `"schedules ${name}" is not known: ${Object.keys(actions).join(", ")} are.`,
      );
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) => act({ client, terminal, given, words }));
  },
};

function failed({ terminal }: SchedulesCall, { error }: Result<unknown> & { ok: false }): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

function misuse({ terminal }: SchedulesCall, sentence: string): number {
  terminal.printError(cleanLine(sentence));
  return exit.misuse;
}

async function list(call: SchedulesCall): Promise<number> {
  const { client, given, terminal } = call;
  const read = await client.listSchedules();
  if (!read.ok) return failed(call, read);
  for (const schedule of read.value.schedules)
    terminal.print(hasFlag(given, "json") ? cleanJson(schedule) : rowOf(schedule));
  if (read.value.schedules.length === 0)
    terminal.printError('Nothing is scheduled. "holdfast schedules --help" shows how to begin.');
  return exit.done;
}

function rowOf(schedule: ScheduleView): string {
  const { nextAt } = schedule;
  const next = nextAt === null ? "" : `, next ${new Date(nextAt).toISOString()}`;
  return `${schedule.id}\t${cleanLine(describeSchedule(schedule) + next)}`;
}

async function add(call: SchedulesCall): Promise<number> {
  const { client, terminal } = call;
  const prompt = call.words.join(" ");
  if (prompt === "") return misuse(call, "schedules add needs a prompt, in quotation marks.");
  const at = textFlag(call.given, "at");
  if (at === undefined) return misuse(call, "When? Give --at, like --at 08:00.");
  const named = await targetOf(call);
  if (named === undefined) return exit.misuse;
  const asked = scheduleFromFlags(call, prompt, at);
  const body = routes.createSchedule.body.safeParse({
    ...asked,
    target: named ?? placeholderTarget,
  });
  if (!body.success)
    return misuse(
      call,
      fieldErrors(body.error)
        .map(({ path, message }) => `${path}: ${message}.`)
        .join(" "),
    );
  const { title } = body.data;
  const made = named === null ? await client.createSession({ body: { title } }) : null;
  if (made?.ok === false) return failed(call, made);
  const own = made?.value.session;
  const target = own === undefined ? body.data.target : { sessionId: own.id };
  const created = await client.createSchedule({ body: { ...body.data, target } });
  if (!created.ok) {
    // Nobody has said anything there, and nobody will.
    if (own !== undefined) await client.trashSession({ params: { id: own.id } });
    return failed(call, created);
  }
  terminal.print(rowOf(created.value.schedule));
  if (own !== undefined)
    terminal.printError(
      cleanLine(`It has a conversation of its own: holdfast chat --session ${shortId(own.id)}`),
    );
  return exit.done;
}

/** In place of a conversation that is made when all else is right. */
const placeholderTarget = { lane: "cli:schedule" };

function scheduleFromFlags(call: SchedulesCall, prompt: string, at: string) {
  const { given } = call;
  const missed = textFlag(given, "missed");
  return {
    title: textFlag(given, "title") ?? prompt.slice(0, 60),
    prompt,
    times: timesOf(call, at),
    timeZone: textFlag(given, "zone") ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...(missed !== undefined && { missed }),
  };
}

const everyDay = "mon,tue,wed,thu,fri,sat,sun";
const listOf = (text: string): string[] => text.split(",").map((each) => each.trim());

function timesOf({ given }: SchedulesCall, at: string): unknown {
  const date = textFlag(given, "date");
  if (date !== undefined) return { date, at };
  return { days: listOf((textFlag(given, "days") ?? everyDay).toLowerCase()), at: listOf(at) };
}

/** `null`: nowhere in particular. */
async function targetOf(
  call: SchedulesCall,
): Promise<{ lane: string } | { sessionId: string } | null | undefined> {
  const lane = textFlag(call.given, "lane");
  if (lane !== undefined) return { lane };
  const asked = textFlag(call.given, "session");
  if (asked === undefined) return null;
  const found = await findSessions(call.client, asked, "active");
  if (!found.ok) return void failed(call, found);
  const [session, ...others] = found.sessions;
  if (session === undefined) return void misuse(call, `No session fits "${asked}".`);
  if (others.length > 0)
    return void misuse(call, `More than one session fits "${asked}": name one by its id.`);
  return { sessionId: session.id };
}

async function setState(
  call: SchedulesCall,
  state: NonNullable<ScheduleBody["state"]>,
): Promise<number> {
  const schedule = await findOne(call);
  if (schedule === undefined) return exit.failed;
  const changed = await call.client.changeSchedule({
    params: { id: schedule.id },
    body: { state },
  });
  if (!changed.ok) return failed(call, changed);
  call.terminal.print(rowOf(changed.value.schedule));
  return exit.done;
}

async function remove(call: SchedulesCall): Promise<number> {
  const schedule = await findOne(call);
  if (schedule === undefined) return exit.failed;
  const removed = await call.client.removeSchedule({ params: { id: schedule.id } });
  if (!removed.ok) return failed(call, removed);
  call.terminal.print(cleanLine(`Removed: ${schedule.title}. What it has said stays.`));
  return exit.done;
}

async function findOne(call: SchedulesCall): Promise<ScheduleView | undefined> {
  const asked = call.words.join(" ").toLowerCase();
  const read = await call.client.listSchedules();
  if (!read.ok) return void failed(call, read);
  const fits = ({ id, title }: ScheduleView): boolean =>
    id.endsWith(asked) || title.toLowerCase().includes(asked);
  const [schedule, ...others] = asked === "" ? [] : read.value.schedules.filter(fits);
  if (schedule !== undefined && others.length === 0) return schedule;
  const one = 'Name one by the end of its id; "holdfast schedules" lists them.';
  const why = schedule === undefined ? "No schedule" : "More than one schedule";
  return void misuse(call, `${why} fits "${asked}". ${one}`);
}
