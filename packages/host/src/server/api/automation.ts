import type { LaneKey, OwnerId, ProcessView, ScheduleView, TaintSource } from "@holdfast/protocol";
import type { Route } from "../http/routing.ts";
import { isDeliveredLane, sessionForLane } from "../../gateway/lanes.ts";
import { isTimeZone, nextOccurrence } from "../../automation/schedules/occurrences.ts";
import { cronProblem } from "../../automation/schedules/recurrences.ts";
import {
  type ScheduleWriteResult,
  ScheduleStore,
  type Schedule,
  type ScheduleChange,
  anchored,
  viewSchedule,
} from "../../automation/schedules/schedule-store.ts";
import { readNewsAt } from "../../automation/schedules/changes-only.ts";
import { submitPrompt } from "../../automation/schedules/scheduler.ts";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
import { answer, type Call, mountCall, problem, problemFrom } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";
import { describeEnd } from "../../automation/processes/end-report.ts";
import { type ProcessRecord } from "../../automation/processes/process-store.ts";

const previewedTimes = 5;

export function scheduleRoutes(deps: ApiDeps): Route[] {
  const { store } = deps.log;
  const scheduleStore = new ScheduleStore(store.register, () => store.now());
  const rights = openRightsResolver(store.register);

  async function validateTimes({ timeZone, times }: Pick<ScheduleChange, "timeZone" | "times">) {
    if (timeZone !== undefined && !isTimeZone(timeZone)) {
      return invalidField("timeZone", "expected a time zone like Europe/Berlin");
    }
    if (times === undefined || !("cron" in times)) return null;
    const wrong = cronProblem(times.cron, timeZone ?? "UTC", await store.now());
    return wrong === null ? null : invalidField("times.cron", wrong);
  }

  async function validateSchedule(owner: OwnerId, body: ScheduleChange) {
    const invalid = await validateTimes(body);
    const { target } = body;
    if (invalid !== null || target === undefined) return invalid;
    if ("lane" in target) {
      if (!isDeliveredLane(target.lane))
        return invalidField("target.lane", "expected the lane of a chat; otherwise name a session");
      const known = await store.reads.lane(owner, target.lane);
      return known === null ? problem("lane_not_found") : null;
    }
    const session = await store.reads.session(owner, target.sessionId);
    return session === null ? problem("session_not_found") : null;
  }

  /** A one-off schedule that was due before the request would never fire. */
  async function validateDueTime(body: ScheduleChange, known?: Schedule) {
    if (body.times === undefined && body.timeZone === undefined) return null;
    const { times = known?.times, timeZone = known?.timeZone } = body;
    if (times === undefined || timeZone === undefined) return null;
    const next = nextOccurrence({ times, timeZone }, await store.now());
    return next === null ? invalidField("times", "this time has passed") : null;
  }

  async function view(owner: OwnerId, schedule: Schedule): Promise<ScheduleView> {
    const spending = await deps.spendLimits.ofSchedule(owner, schedule);
    const quiet = schedule.report === "changes" ? await quietIn(owner, schedule) : null;
    const shown = { ...viewSchedule(schedule), ...(quiet !== null && { quiet }) };
    if (spending === null) return shown;
    const { spentMicros, from, until } = spending;
    return { ...shown, spending: { spentMicros, from, until } };
  }

  async function quietIn(
    owner: OwnerId,
    { last }: Schedule,
  ): Promise<ScheduleView["quiet"] | null> {
    const sessionId = last?.sessionId;
    const row = sessionId === undefined ? null : await store.reads.session(owner, sessionId);
    if (row === null || row.liveRun !== null) return null;
    const newsAt = await readNewsAt(store.reads, owner, row.id);
    return newsAt === null ? null : { sessionId: row.id, newsAt, until: row.sortAt };
  }

  async function reply(owner: OwnerId, result: ScheduleWriteResult) {
    if (result.status !== "kept") return scheduleProblem(result);
    return answer({ schedule: await view(owner, result.schedule) });
  }

  async function preview({ body }: Call<"previewSchedule">) {
    const invalid = (await validateTimes(body)) ?? (await validateDueTime(body));
    if (invalid !== null) return invalid;
    const now = await store.now();
    const next: number[] = [];
    const rule = { ...body, times: anchored(body.times, now) };
    for (let after = now; next.length < previewedTimes; after = next.at(-1) ?? now) {
      const found = nextOccurrence(rule, after);
      if (found === null) break;
      next.push(found.at);
    }
    return answer({ next });
  }

  async function create({ owner, body, ids }: Call<"createSchedule">) {
    const { madeIn, ...schedule } = body;
    const invalid = (await validateSchedule(owner, schedule)) ?? (await validateDueTime(schedule));
    if (invalid !== null) return invalid;
    const maker = madeIn && { lane: madeIn, ...(await makerIn(owner, madeIn)) };
    const made = { ...schedule, ...(maker && { maker }) };
    return reply(owner, await scheduleStore.create(owner, ids.make("schedule"), made));
  }

  async function makerIn(owner: OwnerId, lane: LaneKey) {
    return { rights: await rights.ofLane(owner, lane), taint: taintOfLane(lane) };
  }

  async function change({ owner, params, body }: Call<"changeSchedule">) {
    const known = (await scheduleStore.find(owner, params.id)) ?? undefined;
    const invalid = (await validateSchedule(owner, body)) ?? (await validateDueTime(body, known));
    return invalid ?? reply(owner, await scheduleStore.change(owner, params.id, body));
  }

  async function runNow({ owner, params, ids }: Call<"runSchedule">) {
    const found = (await scheduleStore.list(owner)).find(
      ({ schedule }) => schedule.id === params.id,
    );
    if (found === undefined) return problem("schedule_not_found");
    const { log, engine, newSessionMode } = deps;
    const prompt = {
      key: `schedule:${params.id}:now:${ids.make("message")}`,
      heading: "a scheduled prompt, asked for now",
    };
    const submitDeps = {
      log,
      ids,
      runner: engine,
      sessionFor: (laneOwner: OwnerId, lane: LaneKey, key: string) =>
        sessionForLane({ log, owner: laneOwner, newSessionMode: newSessionMode() }, lane, key),
      rights,
    };
    const { session, admission } = await submitPrompt(submitDeps, owner, found.schedule, prompt);
    if (admission.status !== "accepted") return problemFrom(admission);
    const at = await store.now();
    const outcome = { occurrence: "now", at, outcome: "accepted", sessionId: session };
    const recorded = await scheduleStore.addOutcome(owner, params.id, outcome);
    // The message was delivered whether or not the run could be recorded.
    const { schedule } = recorded.status === "kept" ? recorded : found;
    return answer({ schedule: await view(owner, schedule), sessionId: session });
  }

  async function remove({ owner, params }: Call<"removeSchedule">) {
    const removed = await scheduleStore.remove(owner, params.id);
    return removed.status === "kept" ? answer(undefined) : scheduleProblem(removed);
  }

  return [
    mountCall(deps, "listSchedules", async ({ owner }) => {
      const all = await scheduleStore.list(owner);
      return answer({
        schedules: await Promise.all(all.map(({ schedule }) => view(owner, schedule))),
      });
    }),
    mountCall(deps, "previewSchedule", preview),
    mountCall(deps, "createSchedule", create),
    mountCall(deps, "changeSchedule", change),
    mountCall(deps, "runSchedule", runNow),
    mountCall(deps, "removeSchedule", remove),
  ];
}

/** Programs pass on what they have read: a stranger may have written it. */
function taintOfLane(lane: LaneKey): TaintSource[] {
  const [platform, name = ""] = lane.split(":");
  return platform === "mcp" || platform === "webhook"
    ? [{ kind: platform, name: name.slice(0, 100) }]
    : [];
}

function invalidField(path: string, message: string) {
  return problem("invalid_request", { errors: [{ path, message }] });
}

function scheduleProblem(result: Exclude<ScheduleWriteResult, { status: "kept" }>) {
  switch (result.status) {
    case "not_found":
      return problem("schedule_not_found");
    case "too_many":
      return problem("too_many_schedules");
    case "failed":
      return problemFrom(result);
  }
}

const maxOutputLength = 20_000;

export function processRoutes(deps: ApiDeps): Route[] {
  const { processes: processManager, log } = deps;

  async function list({ owner, params }: Call<"listProcesses">) {
    const session = await log.store.reads.session(owner, params.id);
    if (session === null) return problem("session_not_found");
    const all = (await processManager?.store.list(owner)) ?? [];
    const ofSession = all.filter(({ process }) => process.session === session.id);
    return answer({ processes: ofSession.map(({ process }) => viewProcess(process)) });
  }

  async function stop({ owner, params }: Call<"stopProcess">) {
    const stopped = await processManager?.stop(owner, null, params.id);
    if (stopped == null) return problem("process_not_found");
    return answer({ process: viewProcess(stopped.process) });
  }

  async function readOutput({ owner, params }: Call<"readProcessOutput">) {
    const found = await processManager?.store.find(owner, null, params.id);
    if (processManager === undefined || found == null) return problem("process_not_found");
    const output = await processManager.output(found.process, maxOutputLength);
    return answer({
      process: viewProcess(found.process),
      output: output?.text ?? null,
      isWhole: output?.isWhole ?? false,
    });
  }

  return [
    mountCall(deps, "listProcesses", list),
    mountCall(deps, "readProcessOutput", readOutput),
    mountCall(deps, "stopProcess", stop),
  ];
}

function viewProcess({ id, session, shown, stop, end, ...rest }: ProcessRecord): ProcessView {
  const { host, startedAt, endedAt } = rest;
  return {
    id,
    sessionId: session,
    command: shown,
    state: end !== null ? "ended" : stop !== null ? "stopping" : "running",
    end: end === null ? null : describeEnd(end),
    host,
    startedAt,
    endedAt,
  };
}
