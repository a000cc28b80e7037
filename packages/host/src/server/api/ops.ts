import {
  type MemoryTryRow,
  type Finding,
  fsck,
  type FsckMode,
  type FsckSummary,
  type Store,
} from "@holdfast/engine";
import { jsonObject, type OwnerId } from "@holdfast/protocol";
import { configSchema } from "../../ops/config/describe-settings.ts";
import type { Route } from "../http/routing.ts";
import { answer, type AnswerOf, type Call, mountCall, mountStream } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";
import { createUsageGroups } from "../../ops/telemetry/usage-groups.ts";

/** Usage, pending memory commits, and settings. */
export function usageRoutes(deps: ApiDeps): Route[] {
  const { reads } = deps.log.store;
  return [
    mountCall(deps, "readUsage", async ({ owner, query: { sessionId, since } }) => {
      const usage = await reads.usage(owner, {
        ...(sessionId !== undefined && { session: sessionId }),
        ...(since !== undefined && { since }),
      });
      return answer({ usage: { ...usage } });
    }),
    mountCall(deps, "readUsageGroups", createUsageGroups(deps)),
    mountCall(deps, "readConfigSchema", async () => answer(jsonObject.parse(configSchema()))),
    mountCall(deps, "listCompactions", async ({ owner }) =>
      answer({ compactions: await heldCompactionLocks(deps.log.store, owner) }),
    ),
    mountCall(deps, "readMemory", async ({ owner }) => {
      const { failing, ...backlog } = await reads.memory(owner);
      return answer({ backlog: { ...backlog, failing: failing && viewFailingMemory(failing) } });
    }),
  ];
}

const maxShownLocks = 100;

/** S0.13: the compaction locks held now on this owner's sessions. */
async function heldCompactionLocks(
  store: Store,
  owner: OwnerId,
): Promise<AnswerOf<"listCompactions">["compactions"]> {
  const now = await store.now();
  const locks: AnswerOf<"listCompactions">["compactions"] = [];
  for await (const { kind, session, holder, expiresAt } of store.audit.leases()) {
    if (kind !== "compaction" || expiresAt <= now) continue;
    if ((await store.reads.session(owner, session)) === null) continue;
    const { host, pid, thread, agent, nonce } = holder;
    locks.push({ sessionId: session, holder: { host, pid, thread, agent, nonce }, expiresAt });
    if (locks.length === maxShownLocks) break;
  }
  return locks;
}

function viewFailingMemory({ session, tries, retryAt, code, message }: MemoryTryRow) {
  return { sessionId: session, tries, retryAt, code: code ?? "unknown", message: message ?? "" };
}

/** For monitoring, behind the same authentication as everything else. */
export function metricsRoutes(deps: ApiDeps): Route[] {
  return [
    mountStream(deps, "metrics", async (_, c) => {
      const text = await deps.metrics.render(deps.log.store);
      return c.body(text, 200, {
        "content-type": "text/plain; version=0.0.4; charset=utf-8",
        "cache-control": "no-store",
      });
    }),
  ];
}

type FsckView = AnswerOf<"readFsck">;

const maxShownFindings = 200;

/** One check runs at a time as a job, and any caller can see its progress. */
interface FsckJob {
  readonly mode: FsckMode;
  state: "running" | "done" | "failed";
  sessions: number;
  events: number;
  readonly found: Finding[];
  findings: number;
  summary: FsckSummary | null;
}

export function fsckRoutes(deps: ApiDeps): Route[] {
  let job: FsckJob | undefined;

  async function startFsck({ body }: Call<"startFsck">) {
    if (job?.state !== "running") {
      job = {
        mode: body.mode ?? "check",
        state: "running",
        sessions: 0,
        events: 0,
        found: [],
        findings: 0,
        summary: null,
      };
      void runJob(job, deps);
    }
    return answer(viewJob(job));
  }

  return [
    mountCall(deps, "startFsck", startFsck),
    mountCall(deps, "readFsck", async () => answer(viewJob(job))),
  ];
}

async function runJob(job: FsckJob, { log: { store }, journals, report }: ApiDeps): Promise<void> {
  try {
    const now = await store.now();
    const onProgress = (progress: { sessions: number; events: number }): void =>
      void Object.assign(job, progress);
    for await (const item of fsck(store.audit, {
      mode: job.mode,
      now,
      onProgress,
      ...(journals && { spills: journals }),
    })) {
      if (item.kind === "summary") job.summary = item.summary;
      else {
        job.findings += 1;
        if (job.found.length < maxShownFindings) job.found.push(item.finding);
      }
    }
    job.state = job.summary?.failure === undefined ? "done" : "failed";
  } catch (error) {
    job.state = "failed";
    report(error instanceof Error ? error : new Error(String(error)));
  }
}

function viewJob(job: FsckJob | undefined): FsckView {
  if (job === undefined)
    return { state: "never", sessions: 0, events: 0, findings: 0, found: [], clean: null };
  const { state, sessions, events, findings, found, mode, summary } = job;
  const clean = summary === null ? null : summary.exitCode === 0;
  return {
    state,
    mode,
    sessions,
    events,
    findings,
    found: found.map((finding) => ({ ...finding })),
    clean,
    ...(summary && {
      repaired: summary.repaired,
      unproven: [...summary.unproven],
      spills: summary.spills.length,
    }),
  };
}
