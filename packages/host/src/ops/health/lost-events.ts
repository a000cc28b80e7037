import type { Log, LostEvents, Store } from "@holdfast/engine";
import { ids, newEvent, type OwnerId, ownerId, type SessionId } from "@holdfast/protocol";
import { z } from "zod";

import type { Logger } from "../telemetry/logger.ts";

/** What the database has lost of late, as every host on it knows. */
export interface LossSummary {
  readonly sessions: number;
  /** When the last loss was noticed. */
  readonly at: number;
}

export interface LossReporter {
  /** Tells people in each conversation, and those who run the host. */
  readonly report: (log: Pick<Log, "commit">, lost: readonly LostEvents[]) => void;
  summary(): LossSummary | undefined;
}

export interface LossReporterDeps {
  readonly store: Pick<Store, "register">;
  /** Milliseconds since 1970, since other hosts read them as well. */
  readonly now: () => number;
  readonly logger: Pick<Logger, "error">;
}

const lostEventsCode = "events_lost";
const host = ownerId.parse("holdfast:host");
const keyPrefix = "events-lost/";
const keyOf = (session: SessionId): string => `${keyPrefix}${session}`;
const row = z.object({ at: z.number() });

/** Several hosts notice the same loss; it is told once. */
const sameLossMs = 10 * 60_000;
const shownForMs = 7 * 24 * 60 * 60_000;
const maxRows = 1_000;

const texts = {
  log: "The database has lost events that were confirmed. It has probably failed over to a replica that had not received them, or was restored from a backup.",
  notice:
    "The database was replaced by an older copy of itself, and the newest part of this conversation is lost. Check your last messages, and send again what is missing.",
};

/** Reads what other hosts, or this one before a restart, have noticed. */
export async function createLossReporter(deps: LossReporterDeps): Promise<LossReporter> {
  const { store, now, logger } = deps;
  const rows = await store.register.list(host, keyPrefix, maxRows).catch(() => []);
  const times = new Map(rows.map(({ key, value }) => [key, timeIn(value)]));

  async function tell(
    log: Pick<Log, "commit">,
    { owner, session, upTo, head }: LostEvents,
  ): Promise<void> {
    logger.error(texts.log, { code: lostEventsCode, session, upTo, head });
    const key = keyOf(session);
    const at = now();
    times.set(key, at);
    const known = await store.register.read(host, key);
    if (known !== null && at - timeIn(known.value) < sameLossMs) return;
    const value = JSON.stringify({ at, upTo, head });
    const put = await store.register.put({ owner: host, key, value, expect: known?.revision ?? 0 });
    if (put.status === "put" && head !== null) await log.commit(noticeOf(owner, session, upTo));
  }

  return {
    report(log, lost) {
      for (const one of lost)
        void tell(log, one).catch((error: unknown) =>
          logger.error(texts.log, { code: lostEventsCode, reason: String(error) }),
        );
    },
    summary() {
      const recent = [...times.values()].filter((at) => now() - at < shownForMs);
      return recent.length === 0 ? undefined : { sessions: recent.length, at: Math.max(...recent) };
    },
  };
}

function timeIn(value: string): number {
  try {
    return row.parse(JSON.parse(value)).at;
  } catch {
    return 0;
  }
}

function noticeOf(owner: OwnerId, session: SessionId, upTo: number) {
  const notice = newEvent(ids.make("event"), "notice.added", {
    noticeId: ids.make("notice"),
    kind: lostEventsCode,
    text: texts.notice,
    details: { upTo },
  });
  return { owner, session, events: [notice] };
}
