import { readHere } from "./sessions.ts";
import { type CommandAnswer, refusedBy } from "./answers.ts";
import type { CommandPlace, SessionPlace } from "./command.ts";

export async function title(place: SessionPlace, words: string): Promise<CommandAnswer> {
  if (words === "") {
    const read = await readHere(place);
    if (!read.ok) return refusedBy(read.error);
    return { kind: "title", title: read.value.session.title };
  }
  return change(place, "titled", { title: words });
}

export async function model(place: SessionPlace, name: string): Promise<CommandAnswer> {
  if (name !== "") return change(place, "model_chosen", { model: name });
  const [read, listed] = await Promise.all([readHere(place), place.client.listModels()]);
  if (!read.ok) return refusedBy(read.error);
  if (!listed.ok) return refusedBy(listed.error);
  const { usual, models } = listed.value;
  const usable = models.filter((each) => each.usable).map((each) => each.name);
  return { kind: "model", model: read.value.session.model, usual, models: usable };
}

async function change(
  { client, sessionId: id }: SessionPlace,
  what: "titled" | "model_chosen",
  body: { readonly title?: string; readonly model?: string },
): Promise<CommandAnswer> {
  const changed = await client.changeSession({ params: { id }, body });
  if (!changed.ok) return refusedBy(changed.error);
  return { kind: "changed", what, session: changed.value.session };
}

export async function memory({ client }: CommandPlace): Promise<CommandAnswer> {
  const read = await client.readMemory();
  if (!read.ok) return refusedBy(read.error);
  const { sessions, turns, oldestAt, failing } = read.value.backlog;
  return { kind: "memory", sessions, turns, oldestAt, failing };
}

export async function usage({ client, sessionId, now }: CommandPlace): Promise<CommandAnswer> {
  const today = new Date(now());
  const since = today.setHours(0, 0, 0, 0);
  const [all, day, own] = await Promise.all([
    client.readUsage(),
    client.readUsage({ query: { since } }),
    sessionId === null ? null : client.readUsage({ query: { sessionId } }),
  ]);
  if (!all.ok) return refusedBy(all.error);
  if (!day.ok) return refusedBy(day.error);
  if (own !== null && !own.ok) return refusedBy(own.error);
  return {
    kind: "usage",
    session: own?.value.usage ?? null,
    today: day.value.usage,
    all: all.value.usage,
  };
}

export async function schedule(place: CommandPlace): Promise<CommandAnswer> {
  const { client, lane, mayReach } = place;
  const listed = await client.listSchedules();
  if (!listed.ok) return refusedBy(listed.error);
  const { schedules } = listed.value;
  if (mayReach === undefined) return { kind: "schedules", schedules };
  const isHere = await Promise.all(
    schedules.map(async ({ target }) =>
      "lane" in target ? target.lane === lane : mayReach(target.sessionId),
    ),
  );
  return { kind: "schedules", schedules: schedules.filter((_, index) => isHere[index]) };
}
