import { ownerId } from "@holdfast/protocol";
import { z } from "zod";

import { openProjectStore } from "../../../src/agent/instructions/project-store.ts";
import { ScheduleStore } from "../../../src/automation/schedules/schedule-store.ts";
import type { Taker } from "./import-into.ts";
import type { Compared, Differ, TakenSessions } from "./truth.ts";

/** What a home has beside its conversations. */
export const homeTruth = z.object({
  memory: z.object({ memory: z.array(z.string()), user: z.array(z.string()) }),
  soul: z.string(),
  skills: z.array(z.string()),
  env_names: z.array(z.string()),
  model: z.object({ default: z.string() }).optional(),
  custom_providers: z.array(z.string()),
  timezone: z.string(),
  cron_jobs: z.array(z.object({ id: z.string(), name: z.string() })),
  projects: z.array(z.object({ name: z.string(), made_by: z.string() })),
  /** Chats, by their keys: the session that each goes on in. */
  gateway: z.record(z.string(), z.string()),
  mcp_servers: z.array(z.string()),
  pairing: z.record(z.string(), z.array(z.string())).default({}),
  profiles: z.record(z.string(), z.object({ session: z.string(), messages: z.number() })),
});
type HomeTruth = z.infer<typeof homeTruth>;

/** Each thing arrived, or the report says why not. */
export async function differencesOfHome(
  truth: HomeTruth,
  { store, items, owner, taker }: Compared & { readonly taker: Taker },
  sessions: TakenSessions,
  differ: Differ,
): Promise<void> {
  const told = items.flatMap(({ item, outcome, code, name, path = "", remarks = [] }) => [
    ...(item === "finding" ? [`${code} ${outcome} ${path} ${name}`] : []),
    ...remarks.map((each) => `${each.code} ${each.outcome} ${each.path} ${each.text}`),
  ]);
  const isTold = (...words: readonly string[]): boolean =>
    told.some((line) => words.every((word) => line.includes(word)));
  const facts = (await taker.facts.list(owner)).map(({ text }) => text);
  differ("home", "facts", facts, [...truth.memory.memory, ...truth.memory.user]);
  const personas = (await taker.personas.list()).map(({ text }) => text);
  differ("home", "persona", personas.includes(truth.soul.trim()), true);
  const named = (kind: string): string[] =>
    items.flatMap(({ item, name }) => (item === kind ? [name] : []));
  const skills = named("skill").map((name) => name.slice(name.indexOf("skills/") + 7));
  differ("home", "skills", skills.toSorted(), truth.skills.toSorted());
  for (const name of truth.env_names) differ("home", name, isTold("skipped .env", name), true);
  for (const name of truth.custom_providers) differ("home", name, isTold("setting", name), true);
  if (truth.model !== undefined)
    differ("home", "model", isTold("setting", truth.model.default), true);
  const schedules = await new ScheduleStore(store.register, () => Promise.resolve(0)).list(owner);
  for (const { id, name } of truth.cron_jobs) {
    const here = schedules.find(({ schedule }) => schedule.title === name)?.schedule;
    if (here === undefined) {
      differ("home", `the job ${name}`, isTold("not_supported", name), true);
      continue;
    }
    differ(name, "time zone", here.timeZone, truth.timezone);
    differ(name, "state", here.state, "off");
    const runs = [...sessions].filter(([tip]) => tip.startsWith(`cron_${id}_`));
    const last = runs.toSorted(([a], [b]) => a.localeCompare(b)).at(-1)?.[1];
    if (last !== undefined)
      differ(name, "session", "sessionId" in here.target && here.target.sessionId, last.session);
  }
  const projects = (await openProjectStore(store.register).list(owner)).map(({ name }) => name);
  for (const { name, made_by: by } of truth.projects)
    if (by === "page") differ("home", name, isTold("built_in", name), true);
    else differ("home", name, projects.includes(name), true);
  for (const [key, id] of Object.entries(truth.gateway)) {
    const [, , , kind, chat = "", thread] = key.split(":");
    const place = kind === "dm" && thread !== undefined ? `${chat}, topic ${thread}` : chat;
    const said = sessions.get(id)?.item.remarks?.find(({ code }) => code === "chat")?.text;
    const expected = `The chat ${place} continues in this session once its bot is connected.`;
    differ(key, "chat", said, expected);
  }
  const servers = [...taker.addedServers.list()].map(
    ([name, { switch: state }]) => `${name} ${state}`,
  );
  differ(
    "home",
    "MCP servers",
    servers.toSorted(),
    truth.mcp_servers.toSorted().map((name) => `${name} off`),
  );
  for (const platform of Object.keys(truth.pairing))
    differ("home", "pairing", isTold("allow_list", platform), true);
  for (const [name, { session, messages }] of Object.entries(truth.profiles)) {
    differ("home", "profile", projects.includes(name), true);
    const here = sessions.get(session);
    differ(session, "messages", here?.item.texts?.length, messages);
    const row = here && (await store.reads.session(ownerId.parse(owner), here.session));
    differ(session, "project", row?.project, name);
  }
}
