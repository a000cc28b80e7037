import { type NewEvent, newEvent, type Seq } from "@holdfast/protocol";

import type { DeriveId } from "./derive-id.ts";
import type { StoredLog } from "./proof.ts";
import type { SessionOrigin, SessionView } from "./session-view.ts";
import type { ImportedSession } from "./source.ts";
import type { SessionWriterDeps } from "./write-session.ts";

const maxTitleLength = 120;
const maxTagLength = 60;
const maxNamedIds = 100;

interface CreatedFrom {
  readonly origin: SessionOrigin | null;
  readonly view: SessionView;
  /** It takes several commits, and isn't listed before the last one. */
  readonly isSplit: boolean;
}

/** The event that a session's log begins with. */
export function createdEvent(
  { derive, source, projectName, originOf }: SessionWriterDeps,
  session: ImportedSession,
  { origin, view, isSplit }: CreatedFrom,
): NewEvent {
  const { key, title, titleSource, tags, project, pinned, archived, from, to, childOf } = session;
  const parent = childOf === undefined ? undefined : originOf(childOf.key);
  const parentId =
    childOf === undefined ? undefined : (parent?.session ?? derive("session", childOf.key));
  const name = title?.toWellFormed().trim().slice(0, maxTitleLength) ?? "";
  return newEvent(derive("event", key, "created"), "session.created", {
    ...(name !== "" && { title: name, titleSource }),
    ...(project !== null && { project: projectName(project) }),
    tags: [
      ...tags.map((tag) => tag.slice(0, maxTagLength)),
      ...(parentId === undefined ? [] : [`child-of:${parentId}`]),
    ],
    ...(pinned && { pinned }),
    ...((archived || parentId !== undefined || isSplit) && { archived: true }),
    ...(origin !== null && {
      origin: { ...origin },
      ranges: [...view.ranges.slice(0, -1), { from: (origin.seq + 1) as Seq, to: null }],
      ...view.shared,
    }),
    ...(parentId !== undefined && {
      parent: {
        sessionId: parentId,
        runId: derive("run", key, "parent"),
        callId: derive("call", key, "parent"),
      },
    }),
    imported: {
      source,
      ids: session.ids.slice(0, maxNamedIds),
      from,
      to,
      ...(isSplit && { unfinished: true }),
    },
  });
}

/** Totals only grow: what an earlier import recorded isn't counted again. */
export function usageEvents(
  { key: session, entries }: ImportedSession,
  used: StoredLog["used"] | undefined,
  derive: DeriveId,
): readonly NewEvent[] {
  const events: NewEvent[] = [];
  for (const entry of entries) {
    if (entry.type !== "usage") continue;
    const known = used?.get(entry.key);
    const more = (name: keyof NonNullable<typeof known>): number =>
      Math.max(0, entry[name] - (known?.[name] ?? 0));
    const amounts = {
      input: more("input"),
      output: more("output"),
      cacheRead: more("cacheRead"),
      cacheWrite: more("cacheWrite"),
      costMicros: more("costMicros"),
    };
    if (Object.values(amounts).every((value) => value === 0)) continue;
    const totals = JSON.stringify([entry.input, entry.output, entry.cacheRead, entry.costMicros]);
    const id = derive("event", session, "usage", entry.key, totals);
    const { model, at, key } = entry;
    const data = { model, ...amounts, usedAt: at, importKey: key };
    events.push(newEvent(id, "usage.recorded", data));
  }
  return events;
}
