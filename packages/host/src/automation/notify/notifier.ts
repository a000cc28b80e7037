import {
  type Reads,
  type Clock,
  type Holder,
  type Liveness,
  type Store,
  StoreFailure,
} from "@holdfast/engine";
import { decodeEvent, type OwnerId, seq } from "@holdfast/protocol";
import type { Redact } from "../../ops/secrets/redact.ts";
import { type Attention, instructionFor, AttentionFinder } from "./attention.ts";
import type { Egress } from "../../util/egress/egress.ts";
import { signedHeaders } from "../../util/webhook-signature.ts";
import {
  NoticeStore,
  clampToClock,
  claimNext,
  isExpired,
  emptyNoticeState,
  type PendingNotice,
  settleNotice,
  enqueueNotices,
} from "./notice-queue.ts";

export interface NoticeMessageDeps {
  readonly reads: Reads;
  readonly owner: OwnerId;
  /** Where people find the page; `null` when nobody can. */
  readonly address: string | null;
  readonly details: "on" | "off";
  readonly redact: Redact;
}

const maxDetailsLength = 2_000;
const nearbyEvents = 20;

/** `null`: nobody is needed any more. */
async function encodeNotice(
  parts: NoticeMessageDeps,
  item: Attention,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const { reads, owner, address, redact } = parts;
  const { id, type, session: sessionId, at, runId, approvalId, cause } = item;
  const session = await reads.session(owner, sessionId);
  if (session === null || session.trashedAt !== null || !(await isStillOpen(parts, item)))
    return null;
  const tellsAll = parts.details === "on";
  // A title that nobody chose is made of what was said.
  const title = tellsAll || session.titleSource === "chosen" ? session.title : null;
  const details = tellsAll ? await detailsOf(parts, item) : undefined;
  const place = type === "memory_stuck" ? "?settings=memory" : `?session=${sessionId}`;
  const message = {
    id,
    type,
    sessionId,
    title: title === null ? null : redact(title),
    at,
    do: { words: instructionFor(type), link: address === null ? null : `${address}${place}` },
    ...(runId !== undefined && { runId }),
    ...(approvalId !== undefined && { approvalId }),
    ...(cause !== undefined && { cause }),
    ...(details !== undefined && { details: redact(details).slice(0, maxDetailsLength) }),
  };
  return new TextEncoder().encode(JSON.stringify(message));
}

async function isStillOpen({ reads, owner }: NoticeMessageDeps, item: Attention): Promise<boolean> {
  if (item.approvalId === undefined) return true;
  const { approvals } = await reads.approvals(owner, { session: item.session, limit: 100 });
  return approvals.some(({ runId, askedAt }) => runId === item.runId && askedAt === item.at);
}

async function detailsOf(
  { reads, owner }: NoticeMessageDeps,
  { session, approvalId, runId, seq: end }: Attention,
): Promise<string | undefined> {
  if (approvalId !== undefined) {
    const approval = await reads.approval(owner, approvalId);
    return approval?.details.shown ?? (approval === null ? undefined : approval.tool);
  }
  if (end === undefined) return undefined;
  const after = seq.parse(Math.max(0, end - nearbyEvents));
  const page = await reads.events(owner, session, { after, upTo: end, limit: nearbyEvents });
  for (const stored of page?.events.toReversed() ?? []) {
    const { kind, event } = decodeEvent(stored);
    if (kind === "known" && event.type === "notice.added" && event.runId === runId)
      return event.data.text;
  }
  return undefined;
}

export interface NotifierDeps {
  readonly store: Pick<Store, "reads" | "register" | "now">;
  readonly owner: OwnerId;
  readonly clock: Clock;
  readonly holder: Holder;
  readonly liveness: Liveness;
  readonly egress: Egress;
  readonly url: string;
  readonly secret: string;
  readonly details: "on" | "off";
  readonly redact: Redact;
  readonly logLine: (level: "info" | "warn", line: string) => void;
  readonly report: (bug: unknown) => void;
  readonly times?: Partial<typeof defaultTimes>;
}

export interface Notifier {
  /** `address`: where people find the page. */
  start(address: string | null): void;
  stop(): Promise<void>;
}

const defaultTimes = { lookMs: 2_000, requestMs: 10_000 };
const triesBeforeWarning = 3;
const maxResponseBytes = 4_096;

/**
 * Tells the operator's webhook when a person is needed. What has happened is read from the store, and what is owed stands
 * in its register, so that runs know nothing of it, and whichever host is left goes on.
 */
export function createNotifier(parts: NotifierDeps): Notifier {
  const { store, owner, clock, liveness, holder, logLine: say } = parts;
  const times = { ...defaultTimes, ...parts.times };
  const kept = new NoticeStore(store.register, owner);
  const finder = new AttentionFinder(store.reads, owner);
  const stopping = new AbortController();
  const { signal } = stopping;
  const { host: receiver } = new URL(parts.url);
  let working: Promise<void> = Promise.resolve();
  let address: string | null = null;

  async function look(): Promise<void> {
    const now = await store.now();
    const state = await kept.read();
    if (state === null) return void (await kept.change((found) => found ?? emptyNoticeState(now)));
    const { from } = clampToClock(state, now);
    if (from < state.from) finder.reset();
    const found = await finder.find(from, now);
    let rest = "none";
    const change = await kept.change((latest) => {
      const taken = latest && enqueueNotices(clampToClock(latest, now), found, now);
      rest = taken?.rest ?? "none";
      return taken?.state ?? null;
    });
    // What found no room, or was not written down, has to be found again.
    if (change.status === "failed" || rest === "some") finder.reset();
  }

  /** Says whether there may be more to send. */
  async function sendNext(): Promise<boolean> {
    const now = await store.now();
    let item: PendingNotice | undefined;
    const claimed = await kept.change((state) => {
      const claim = state && claimNext(clampToClock(state, now), now, holder, liveness);
      item = claim?.item;
      return claim?.state ?? null;
    });
    if (claimed.status !== "changed" || item === undefined) return false;
    const { id } = item;
    const end = await send(item, now);
    const settled = await kept.change((state) => state && settleNotice(state, id, end));
    return settled.status === "changed";
  }

  async function send(item: PendingNotice, now: number): Promise<"over" | "later"> {
    const what = `${item.type} of ${item.session}`;
    if (isExpired(item, now)) {
      say("warn", `notify: ${receiver} has not taken ${what} for a day: it is given up`);
      return "over";
    }
    const body = await encodeNotice({ ...parts, reads: store.reads, address }, item);
    if (body === null) return "over";
    const answer = await parts.egress.request(parts.url, {
      method: "POST",
      headers: signedHeaders([parts.secret], item.id, Math.floor(now / 1_000), body),
      body,
      mostBytes: maxResponseBytes,
      whenLarger: "cut",
      timeLimitMs: times.requestMs,
      signal,
    });
    if (answer.ok && answer.value.status >= 200 && answer.value.status < 300) return "over";
    const why = answer.ok ? `it answered ${answer.value.status}` : answer.refusal.message;
    const level = item.tries === triesBeforeWarning ? "warn" : "info";
    say(level, `notify: ${receiver} has not taken ${what} (try ${item.tries}): ${why}`);
    return "later";
  }

  async function work(): Promise<void> {
    while (!signal.aborted) {
      try {
        await look();
        while (!signal.aborted && (await sendNext()));
      } catch (error) {
        finder.reset();
        // That the store is away is told by who watches it.
        if (!(error instanceof StoreFailure)) parts.report(error);
      }
      await clock.sleep(times.lookMs, signal);
    }
  }

  return {
    start(found) {
      address = found;
      working = work();
    },
    async stop() {
      stopping.abort();
      await working;
    },
  };
}
