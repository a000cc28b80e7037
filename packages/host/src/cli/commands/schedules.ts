import {
  type Client,
  findSessions,
  type Result,
  describeSchedule,
  describeError,
  shortId,
} from "@holdfast/client";
import {
  fieldErrors,
  formatDollars,
  routes,
  type ScheduleBody,
  type ScheduleView,
} from "@holdfast/protocol";
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
    "schedules add <prompt> --every <interval> | --cron <fields>",
    "schedules on <schedule>",
    "schedules off <schedule>",
    "schedules remove <schedule>",
  ],
  about:
    "Prompts that are said by themselves at certain times, while a host serves. A schedule is named by its id, the end of it, or words of its title.",
  flags: {
    at: { type: "string", value: "times", about: "when, like 08:00 or 08:00,20:00" },
    days: { type: "string", value: "days", about: "on which, like mon,fri (every day)" },
    every: { type: "string", value: "interval", about: "or every so often, like 30m, 2h or 1d" },
    cron: { type: "string", value: "fields", about: 'or by cron, like "0 8 * * mon-fri"' },
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
    changes: { type: "boolean", about: "deliver an answer only if something changed" },
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
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) {
      terminal.printError(
        `"schedules ${name}" is not known: ${Object.keys(actions).join(", ")} are.`,
      );
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) => action({ client, terminal, given, words }));
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

const costDays = 30;

async function list(call: SchedulesCall): Promise<number> {
  const { client, given, terminal } = call;
  const result = await client.listSchedules();
  if (!result.ok) return failed(call, result);
  const usage = await client.readUsageGroups({ query: { days: costDays } });
  const costs = usage.ok ? usage.value.schedules : [];
  for (const schedule of result.value.schedules) {
    const micros = costs.find(({ scheduleId }) => scheduleId === schedule.id)?.costMicros ?? 0;
    const cost = micros === 0 ? "" : `, ${formatDollars(micros)} in ${costDays} days`;
    terminal.print(hasFlag(given, "json") ? cleanJson(schedule) : rowOf(schedule) + cost);
  }
  if (result.value.schedules.length === 0)
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
  const every = textFlag(call.given, "every");
  if (every !== undefined && minutesIn(every) === null)
    return misuse(call, "--every takes a number of minutes, hours or days: 30m, 2h or 1d.");
  const times = timesOf(call);
  if (times === null)
    return misuse(call, "When? Give --at, like --at 08:00, or --every 2h, or --cron.");
  const namedTarget = await targetOf(call);
  if (namedTarget === undefined) return exit.misuse;
  const fields = scheduleFromFlags(call, prompt, times);
  const body = routes.createSchedule.body.safeParse({
    ...fields,
    target: namedTarget ?? placeholderTarget,
  });
  if (!body.success)
    return misuse(
      call,
      fieldErrors(body.error)
        .map(({ path, message }) => `${path}: ${message}.`)
        .join(" "),
    );
  const { title } = body.data;
  const newSession = namedTarget === null ? await client.createSession({ body: { title } }) : null;
  if (newSession?.ok === false) return failed(call, newSession);
  const ownSession = newSession?.value.session;
  const target = ownSession === undefined ? body.data.target : { sessionId: ownSession.id };
  const created = await client.createSchedule({ body: { ...body.data, target } });
  if (!created.ok) {
    // The session made for the schedule will never be used.
    if (ownSession !== undefined) await client.trashSession({ params: { id: ownSession.id } });
    return failed(call, created);
  }
  terminal.print(rowOf(created.value.schedule));
  if (ownSession !== undefined)
    terminal.printError(
      cleanLine(
        `It has a conversation of its own: holdfast chat --session ${shortId(ownSession.id)}`,
      ),
    );
  return exit.done;
}

/** Stands in for a session that is created once everything else is valid. */
const placeholderTarget = { lane: "cli:schedule" };

function scheduleFromFlags(call: SchedulesCall, prompt: string, times: unknown) {
  const { given } = call;
  const missed = textFlag(given, "missed");
  return {
    title: textFlag(given, "title") ?? prompt.slice(0, 60),
    prompt,
    times,
    timeZone: textFlag(given, "zone") ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...(missed !== undefined && { missed }),
    ...(hasFlag(given, "changes") && { report: "changes" }),
  };
}

const everyDay = "mon,tue,wed,thu,fri,sat,sun";
const listOf = (text: string): string[] => text.split(",").map((item) => item.trim());

const unitMinutes: Readonly<Record<string, number>> = { m: 1, h: 60, d: 24 * 60 };

/** `null` if it isn't a number with a unit. */
function minutesIn(interval: string): number | null {
  const [, count, unit = ""] = /^(\d{1,6}) ?([mhd])$/.exec(interval.trim()) ?? [];
  return count === undefined ? null : Number(count) * (unitMinutes[unit] ?? 1);
}

/** As given, for the schema to check; `null` if no time is named. */
function timesOf({ given }: SchedulesCall): unknown {
  const cron = textFlag(given, "cron");
  if (cron !== undefined) return { cron };
  const every = textFlag(given, "every");
  if (every !== undefined) return { everyMinutes: minutesIn(every) };
  const at = textFlag(given, "at");
  if (at === undefined) return null;
  const date = textFlag(given, "date");
  if (date !== undefined) return { date, at };
  return { days: listOf((textFlag(given, "days") ?? everyDay).toLowerCase()), at: listOf(at) };
}

/** `null`: no target was named. */
async function targetOf(
  call: SchedulesCall,
): Promise<{ lane: string } | { sessionId: string } | null | undefined> {
  const lane = textFlag(call.given, "lane");
  if (lane !== undefined) return { lane };
  const query = textFlag(call.given, "session");
  if (query === undefined) return null;
  const found = await findSessions(call.client, query, "active");
  if (!found.ok) return void failed(call, found);
  const [session, ...others] = found.sessions;
  if (session === undefined) return void misuse(call, `No session fits "${query}".`);
  if (others.length > 0)
    return void misuse(call, `More than one session fits "${query}": name one by its id.`);
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
  const query = call.words.join(" ").toLowerCase();
  const result = await call.client.listSchedules();
  if (!result.ok) return void failed(call, result);
  const fits = ({ id, title }: ScheduleView): boolean =>
    id.endsWith(query) || title.toLowerCase().includes(query);
  const [schedule, ...others] = query === "" ? [] : result.value.schedules.filter(fits);
  if (schedule !== undefined && others.length === 0) return schedule;
  const hint = 'Name one by the end of its id; "holdfast schedules" lists them.';
  const problem = schedule === undefined ? "No schedule" : "More than one schedule";
  return void misuse(call, `${problem} fits "${query}". ${hint}`);
}
