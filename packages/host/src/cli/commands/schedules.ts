import { describeSchedule, findSessions, shortId } from "@holdfast/client";
import {
  formatDollars,
  routes,
  type ScheduleBody,
  type ScheduleSpendLimit,
  type ScheduleView,
} from "@holdfast/protocol";
import {
  type ActionCall,
  failed,
  fieldSentences,
  misuse,
  onlyMatch,
  printCells,
  printList,
  runAction,
  say,
} from "../actions.ts";
import { type Command, exit, hasFlag, type Terminal, textFlag } from "../command.ts";
import { cleanLine } from "../screen/text.ts";
import { programStrings } from "../strings/program.ts";
import { schedulesStrings as texts } from "../strings/schedules.ts";
import { formatTime } from "../transcript/describe.ts";

export const schedules: Command = {
  usage: [
    "schedules list",
    "schedules add <prompt> --at <times> [--session <session>]",
    "schedules add <prompt> --every <interval> | --cron <fields>",
    "schedules on <schedule>",
    "schedules off <schedule>",
    "schedules limit <schedule> --limit <dollars/period>",
    "schedules remove <schedule>",
  ],
  about: texts.about,
  flags: {
    at: { type: "string", value: "times", about: texts.flags.at },
    days: { type: "string", value: "days", about: texts.flags.days },
    every: { type: "string", value: "interval", about: texts.flags.every },
    cron: { type: "string", value: "fields", about: texts.flags.cron },
    date: { type: "string", value: "date", about: texts.flags.date },
    zone: { type: "string", value: "time zone", about: texts.flags.zone },
    session: { type: "string", value: "id or title", about: texts.flags.session },
    lane: { type: "string", value: "lane", about: texts.flags.lane },
    title: { type: "string", value: "title", about: texts.flags.title },
    missed: { type: "string", value: "skip|once", about: texts.flags.missed },
    limit: { type: "string", value: "dollars/day|week|month", about: texts.flags.limit },
    changes: { type: "boolean", about: texts.flags.changes },
    json: { type: "boolean", about: programStrings.flags.json },
  },
  examples: [
    ["holdfast schedules", texts.examples.list],
    [
      'holdfast schedules add "What is new in the inbox?" --at 08:00 --days mon,fri --session garden',
      texts.examples.add,
    ],
    ['holdfast schedules add "Is the ferry late?" --every 2h --changes', texts.examples.changes],
    ["holdfast schedules off inbox", texts.examples.off],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "schedules", usual: "list", actions }),
};

const actions = {
  list,
  add,
  on: (call: ActionCall) => setState(call, "on"),
  off: (call: ActionCall) => setState(call, "off"),
  limit: setLimit,
  remove,
};

const costDays = 30;

async function list(call: ActionCall): Promise<number> {
  const { client, terminal } = call;
  const result = await client.listSchedules();
  if (!result.ok) return failed(call, result);
  const usage = await client.readUsageGroups({ query: { days: costDays } });
  const costs = usage.ok ? usage.value.schedules : [];
  await printList(call, result.value.schedules, (schedule) => {
    const micros = costs.find(({ scheduleId }) => scheduleId === schedule.id)?.costMicros ?? 0;
    const cost = micros === 0 ? "" : texts.cost(formatDollars(micros), costDays);
    const [id = "", facts = ""] = cellsOf(schedule, terminal);
    return [id, facts + cost];
  });
  if (result.value.schedules.length === 0) terminal.printError(texts.none);
  return exit.done;
}

/** A person reads the time in this machine's zone, a script in UTC. */
function cellsOf(schedule: ScheduleView, { output }: Terminal): readonly string[] {
  const { nextAt } = schedule;
  const format = output.isTTY === true ? formatTime : (at: number) => new Date(at).toISOString();
  const next = nextAt === null ? "" : texts.next(format(nextAt));
  return [schedule.id, describeSchedule(schedule) + next];
}

async function add(call: ActionCall): Promise<number> {
  const { client, terminal } = call;
  const prompt = call.words.join(" ");
  if (prompt === "") return misuse(call, texts.promptMissing);
  const every = textFlag(call.given, "every");
  if (every !== undefined && minutesIn(every) === null) return misuse(call, texts.badInterval);
  const times = timesOf(call);
  if (times === null)
    return misuse(
      call,
      textFlag(call.given, "date") === undefined ? texts.timesMissing : texts.dateNeedsTime,
    );
  if (limitIn(call) === undefined) return misuse(call, texts.badLimit);
  const namedTarget = await targetOf(call);
  if (namedTarget === undefined) return exit.misuse;
  const fields = scheduleFromFlags(call, prompt, times);
  const body = routes.createSchedule.body.safeParse({
    ...fields,
    target: namedTarget ?? placeholderTarget,
  });
  if (!body.success) return misuse(call, fieldSentences(body.error));
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
  await printCells(terminal, [cellsOf(created.value.schedule, terminal)]);
  if (ownSession !== undefined)
    terminal.printError(cleanLine(texts.ownSession(shortId(ownSession.id))));
  return exit.done;
}

/** Stands in for a session that is created once everything else is valid. */
const placeholderTarget = { lane: "cli:schedule" };

function scheduleFromFlags(call: ActionCall, prompt: string, times: unknown) {
  const { given } = call;
  const missed = textFlag(given, "missed");
  return {
    title: textFlag(given, "title") ?? prompt.slice(0, 60),
    prompt,
    times,
    timeZone: textFlag(given, "zone") ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...(missed !== undefined && { missed }),
    ...(hasFlag(given, "changes") && { report: "changes" }),
    ...(textFlag(given, "limit") !== undefined && { spendLimit: limitIn(call) }),
  };
}

/** `5/month`; `null` for `none` and where none is named, `undefined` if it cannot be read. */
function limitIn({ given }: ActionCall): ScheduleSpendLimit | null | undefined {
  const text = textFlag(given, "limit")?.trim().toLowerCase() ?? "none";
  if (text === "none") return null;
  const [, dollars = "", period] =
    /^\$?(\d{1,6}(?:\.\d{1,6})?) ?\/ ?(day|week|month)$/.exec(text) ?? [];
  const costMicros = Math.round(Number(dollars) * 1_000_000);
  const per = (["day", "week", "month"] as const).find((each) => each === period);
  return per === undefined || costMicros === 0 ? undefined : { costMicros, per };
}

async function setLimit(call: ActionCall): Promise<number> {
  const spendLimit = limitIn(call);
  if (spendLimit === undefined || textFlag(call.given, "limit") === undefined)
    return misuse(call, texts.badLimit);
  const schedule = await findOne(call);
  if (schedule === undefined) return exit.failed;
  const changed = await call.client.changeSchedule({
    params: { id: schedule.id },
    body: { spendLimit },
  });
  if (!changed.ok) return failed(call, changed);
  await printCells(call.terminal, [cellsOf(changed.value.schedule, call.terminal)]);
  return exit.done;
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
function timesOf({ given }: ActionCall): unknown {
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
  call: ActionCall,
): Promise<{ lane: string } | { sessionId: string } | null | undefined> {
  const lane = textFlag(call.given, "lane");
  if (lane !== undefined) return { lane };
  const query = textFlag(call.given, "session");
  if (query === undefined) return null;
  const found = await findSessions(call.client, query, "active");
  if (!found.ok) return void failed(call, found);
  const session = onlyMatch(call, found.sessions, {
    none: texts.noSession(query),
    several: texts.severalSessions(query),
  });
  return session && { sessionId: session.id };
}

async function setState(
  call: ActionCall,
  state: NonNullable<ScheduleBody["state"]>,
): Promise<number> {
  const schedule = await findOne(call);
  if (schedule === undefined) return exit.failed;
  const changed = await call.client.changeSchedule({
    params: { id: schedule.id },
    body: { state },
  });
  if (!changed.ok) return failed(call, changed);
  await printCells(call.terminal, [cellsOf(changed.value.schedule, call.terminal)]);
  return exit.done;
}

async function remove(call: ActionCall): Promise<number> {
  const schedule = await findOne(call);
  if (schedule === undefined) return exit.failed;
  const removed = await call.client.removeSchedule({ params: { id: schedule.id } });
  if (!removed.ok) return failed(call, removed);
  return say(call, texts.removed(schedule.title));
}

async function findOne(call: ActionCall): Promise<ScheduleView | undefined> {
  const query = call.words.join(" ").toLowerCase();
  if (query === "") return void misuse(call, texts.nameMissing);
  const result = await call.client.listSchedules();
  if (!result.ok) return void failed(call, result);
  const fits = ({ id, title }: ScheduleView): boolean =>
    id.endsWith(query) || title.toLowerCase().includes(query);
  return onlyMatch(call, result.value.schedules.filter(fits), {
    none: texts.noMatch(query),
    several: texts.severalMatch(query),
  });
}
