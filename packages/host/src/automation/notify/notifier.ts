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
  /** `address`: the page's address. */
  start(address: string | null): void;
  stop(): Promise<void>;
}

const defaultTimes = { pollMs: 2_000, requestMs: 10_000 };
const triesBeforeWarning = 3;
const maxResponseBytes = 4_096;

/**
 * Posts to the operator's webhook when a person is needed. Events are read from the store and pending notices are
 * kept in its register, so runs don't have to know about it, and any surviving host continues.
 */
export function createNotifier(deps: NotifierDeps): Notifier {
  const { store, owner, clock, liveness, holder, logLine } = deps;
  const times = { ...defaultTimes, ...deps.times };
  const noticeStore = new NoticeStore(store.register, owner);
  const finder = new AttentionFinder(store.reads, owner);
  const stopping = new AbortController();
  const { signal } = stopping;
  const { host: receiver } = new URL(deps.url);
  let working: Promise<void> = Promise.resolve();
  let address: string | null = null;

  async function scan(): Promise<void> {
    const now = await store.now();
    const state = await noticeStore.read();
    if (state === null)
      return void (await noticeStore.change((existing) => existing ?? emptyNoticeState(now)));
    const { from } = clampToClock(state, now);
    if (from < state.from) finder.reset();
    const attentions = await finder.find(from, now);
    let rest = "none";
    const change = await noticeStore.change((current) => {
      const result = current && enqueueNotices(clampToClock(current, now), attentions, now);
      rest = result?.rest ?? "none";
      return result?.state ?? null;
    });
    // What did not fit or could not be stored has to be found again.
    if (change.status === "failed" || rest === "some") finder.reset();
  }

  /** Resolves to whether there may be more to send. */
  async function sendNext(): Promise<boolean> {
    const now = await store.now();
    let item: PendingNotice | undefined;
    const claimed = await noticeStore.change((state) => {
      const claim = state && claimNext(clampToClock(state, now), now, holder, liveness);
      item = claim?.item;
      return claim?.state ?? null;
    });
    if (claimed.status !== "changed" || item === undefined) return false;
    const { id } = item;
    const outcome = await send(item, now);
    const settled = await noticeStore.change((state) => state && settleNotice(state, id, outcome));
    return settled.status === "changed";
  }

  async function send(item: PendingNotice, now: number): Promise<"done" | "retry"> {
    const subject = `${item.type} of ${item.session}`;
    if (isExpired(item, now)) {
      logLine("warn", `notify: ${receiver} has not taken ${subject} for a day: it is given up`);
      return "done";
    }
    const body = await encodeNotice({ ...deps, reads: store.reads, address }, item);
    if (body === null) return "done";
    const response = await deps.egress.request(deps.url, {
      method: "POST",
      headers: signedHeaders([deps.secret], item.id, Math.floor(now / 1_000), body),
      body,
      mostBytes: maxResponseBytes,
      whenLarger: "cut",
      timeLimitMs: times.requestMs,
      signal,
    });
    if (response.ok && response.value.status >= 200 && response.value.status < 300) return "done";
    const reason = response.ok ? `it answered ${response.value.status}` : response.refusal.message;
    const level = item.tries === triesBeforeWarning ? "warn" : "info";
    logLine(level, `notify: ${receiver} has not taken ${subject} (try ${item.tries}): ${reason}`);
    return "retry";
  }

  async function work(): Promise<void> {
    while (!signal.aborted) {
      try {
        await scan();
        while (!signal.aborted && (await sendNext()));
      } catch (error) {
        finder.reset();
        // Store outages are reported elsewhere.
        if (!(error instanceof StoreFailure)) deps.report(error);
      }
      await clock.sleep(times.pollMs, signal);
    }
  }

  return {
    start(pageAddress) {
      address = pageAddress;
      working = work();
    },
    async stop() {
      stopping.abort();
      await working;
    },
  };
}

export interface NoticeMessageDeps {
  readonly reads: Reads;
  readonly owner: OwnerId;
  /** The page's address; `null` if people cannot reach it. */
  readonly address: string | null;
  readonly details: "on" | "off";
  readonly redact: Redact;
}

const maxDetailsLength = 2_000;
const nearbyEvents = 20;

/** `null`: nobody is needed any more. */
async function encodeNotice(
  deps: NoticeMessageDeps,
  item: Attention,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const { reads, owner, address, redact } = deps;
  const { id, type, session: sessionId, at, runId, approvalId, cause } = item;
  const session = await reads.session(owner, sessionId);
  if (session === null || session.trashedAt !== null || !(await isStillOpen(deps, item)))
    return null;
  const hasDetails = deps.details === "on";
  // A title that nobody chose is derived from what was said.
  const title = hasDetails || session.titleSource === "chosen" ? session.title : null;
  const details = hasDetails ? await detailsOf(deps, item) : undefined;
  const query = type === "memory_stuck" ? "?settings=memory" : `?session=${sessionId}`;
  const message = {
    id,
    type,
    sessionId,
    title: title === null ? null : redact(title),
    at,
    do: { words: instructionFor(type), link: address === null ? null : `${address}${query}` },
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
  { session, approvalId, runId, seq: upTo }: Attention,
): Promise<string | undefined> {
  if (approvalId !== undefined) {
    const approval = await reads.approval(owner, approvalId);
    return approval?.details.shown ?? (approval === null ? undefined : approval.tool);
  }
  if (upTo === undefined) return undefined;
  const after = seq.parse(Math.max(0, upTo - nearbyEvents));
  const page = await reads.events(owner, session, { after, upTo, limit: nearbyEvents });
  for (const stored of page?.events.toReversed() ?? []) {
    const { kind, event } = decodeEvent(stored);
    if (kind === "known" && event.type === "notice.added" && event.runId === runId)
      return event.data.text;
  }
  return undefined;
}
