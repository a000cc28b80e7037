import type { Reads, TimeSpan, UsageGroup } from "@holdfast/engine";
import { type OwnerId, scheduleId, sessionId, type UsageGroupView } from "@holdfast/protocol";
import { instantOf, isTimeZone, wallAt } from "../../automation/schedules/occurrences.ts";
import { ScheduleStore } from "../../automation/schedules/schedule-store.ts";
import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, problem } from "../../server/api/endpoint.ts";

const defaultDays = 30;
const maxGroups = 50;
const dayMs = 24 * 60 * 60_000;

/** The usage of the last days. The store adds it up, and reads no more than was used in that time. */
export function createUsageGroups({ log: { store } }: Pick<ApiDeps, "log">) {
  const schedules = new ScheduleStore(store.register, () => store.now());
  const { reads } = store;
  return async ({ owner, query }: Call<"readUsageGroups">) => {
    const { days: count = defaultDays } = query;
    const { timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone } = query;
    if (!isTimeZone(timeZone))
      return problem("invalid_request", {
        errors: [{ path: "timeZone", message: "expected a time zone like Europe/Berlin" }],
      });
    const days = lastDays(await store.now(), count, timeZone);
    const within = { from: days[0]?.from ?? 0, to: days.at(-1)?.to ?? 0 };
    const limit = maxGroups;
    const [byDay, models, sessions, scheduled, titles] = await Promise.all([
      reads.usageGroups(owner, { by: "day", days }),
      reads.usageGroups(owner, { by: "model", within, limit }),
      reads.usageGroups(owner, { by: "session", within, limit }),
      reads.usageGroups(owner, { by: "client", prefix: "schedule:", within, limit }),
      readScheduleTitles(schedules, owner),
    ]);
    const groupOfDay = new Map(byDay.map((group) => [group.key, group]));
    return answer({
      timeZone,
      total: viewGroup(byDay.reduce(addUp, noUsage)),
      days: days.map(({ day }, index) => ({
        day,
        ...viewGroup(groupOfDay.get(String(index)) ?? noUsage),
      })),
      models: models.map((group) => ({ model: group.key, ...viewGroup(group) })),
      sessions: await Promise.all(sessions.map((group) => viewSession(reads, owner, group))),
      schedules: scheduled.flatMap((group) => {
        const id = scheduleId.safeParse(group.key);
        if (!id.success) return [];
        return { scheduleId: id.data, title: titles.get(id.data) ?? null, ...viewGroup(group) };
      }),
    });
  };
}

interface Day extends TimeSpan {
  readonly day: string;
}

/** Days of a time zone: they may be shorter or longer than 24 hours. */
function lastDays(now: number, count: number, timeZone: string): readonly Day[] {
  const today = Math.floor(wallAt(timeZone, now) / dayMs);
  return Array.from({ length: count }, (_, index) => {
    const number = today - count + 1 + index;
    return {
      day: new Date(number * dayMs).toISOString().slice(0, 10),
      from: instantOf(timeZone, number * dayMs),
      to: instantOf(timeZone, (number + 1) * dayMs),
    };
  });
}

async function readScheduleTitles(store: ScheduleStore, owner: OwnerId) {
  const schedules = await store.list(owner);
  return new Map<string, string>(
    schedules.map(({ schedule: { id, title, prompt } }) => [id, title ?? prompt.slice(0, 80)]),
  );
}

async function viewSession(reads: Reads, owner: OwnerId, group: UsageGroup) {
  const id = sessionId.parse(group.key);
  const session = await reads.session(owner, id);
  return { sessionId: id, title: session?.title ?? null, ...viewGroup(group) };
}

const noUsage: UsageGroup = {
  key: "",
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  costMicros: 0,
  calls: 0,
  sent: 0,
};

function addUp(a: UsageGroup, b: UsageGroup): UsageGroup {
  return {
    key: "",
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    costMicros: a.costMicros + b.costMicros,
    calls: a.calls + b.calls,
    sent: a.sent + b.sent,
  };
}

/** `input` is what was sent, whether or not the provider's own figure includes cached tokens. */
function viewGroup(group: UsageGroup): UsageGroupView {
  const { sent, output, cacheRead, cacheWrite, costMicros, calls } = group;
  const cachedShare = sent === 0 ? null : cacheRead / sent;
  return { input: sent, output, cacheRead, cacheWrite, costMicros, calls, cachedShare };
}
