import { join } from "node:path";
import {
  type IsFromPerson,
  type CacheFigures,
  createLog,
  createRecall,
  type SpillStore,
  type Liveness,
  type Log,
  MemoryCommitter,
  type Model,
  type ModelUsage,
  type ConversationReviewer,
  Runner,
  type RunLimits,
  type Store,
  StoreFailure,
  systemClock,
  TitleGenerator,
  usageData,
} from "@holdfast/engine";
import { isChildLane, delegationTree } from "../automation/delegate/child-session.ts";
import { isProcessLane } from "../automation/processes/end-report.ts";
import { ids, newEvent, type OwnerId, type SessionId } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";
import { openSpillFolder } from "@holdfast/store/spill";
import { createAgentCache } from "./agent-cache.ts";
import { createDelegateTool } from "../automation/delegate/delegate-tool.ts";
import { type Compactor, createCompactor, createSummariser } from "./compaction.ts";
import { type ConfiguredMemory } from "./memory/providers.ts";
import { notesSnapshot } from "./memory/notes.ts";
import { createReviews, createReviewer } from "./memory/reviews.ts";
import type { Config } from "../ops/config/settings.ts";
import { type Mcp, noServers, withServerTools } from "./mcp/mcp.ts";
import { createSystemPrompt, type SystemPrompt } from "./system-prompt.ts";
import { createTitler } from "./models/titler.ts";
import { type ModelRegistry } from "./models/registry.ts";
import { createStorageStatus, type StorageStatus } from "../ops/health/store-health.ts";
import { createTokenCounter } from "./models/token-counter.ts";
import type { Toolset } from "./toolset.ts";
import { combineRecalls, saveAttachments } from "./workspace/attachments.ts";
import type { Metrics } from "../ops/telemetry/metrics.ts";

const programLanePrefix = "webhook:";

/**
 * What another agent or a program has asked for, or the host has told, is no word of a person's: memory keeps nothing of it,
 * since it would stand in every later session with nobody's leave. What the host tells in a chat has the chat's lane and a
 * name of the host's.
 */
const isFromPerson: IsFromPerson = (from) =>
  [from.lane, from.clientId].every(
    (name) =>
      !isChildLane(name) && !isProcessLane(name) && name?.startsWith(programLanePrefix) !== true,
  );

/** What carries conversations in this process: the door to their logs, and the one who works on them. */
export interface AgentRuntime {
  readonly log: Log;
  readonly runner: Runner;
  readonly agents: { figures(): CacheFigures };
  readonly storageStatus: StorageStatus;
  readonly compactor: Compactor;
  readonly titles: TitleGenerator;
  readonly memory: MemoryCommitter;
  readonly reviews: ConversationReviewer;
  readonly prompt: SystemPrompt;
  readonly journals: SpillStore | undefined;
}

const limits: RunLimits = { steps: 100, timeMs: 60 * 60_000, modelTries: 5 };
const maxRuns = 1_000;
const remoteInputSweepMs = 250;

function runLimits({
  spendPerRun,
  spendPerDay,
}: Pick<Config, "spendPerRun" | "spendPerDay">): RunLimits {
  const micros = (dollars: number): number => Math.round(dollars * 1_000_000);
  return {
    ...limits,
    ...(spendPerRun.value !== undefined && { costMicros: micros(spendPerRun.value) }),
    ...(spendPerDay.value !== undefined && { costMicrosPerDay: micros(spendPerDay.value) }),
  };
}

export async function createAgentRuntime(
  config: Pick<
    Config,
    | "home"
    | "leaseMs"
    | "resume"
    | "review"
    | "roles"
    | "spendPerRun"
    | "spendPerDay"
    | "delegateDepth"
    | "delegateChildren"
  >,
  store: Store,
  models: ModelRegistry,
  memories: ConfiguredMemory,
  hands: Pick<Toolset, "tools" | "policy" | "workspaces">,
  report: (bug: Error) => void,
  mcp: Pick<Mcp, "tools"> = noServers,
  observe: Metrics["observe"] = () => undefined,
): Promise<AgentRuntime> {
  const { home, leaseMs, resume, review, roles } = config;
  const log = createLog(store, { observe });
  const storing = createStorageStatus();
  const journals = await openSpillJournals(home.value, report);
  function onError(error: unknown): void {
    // A look through the store that was under way when the host stopped: that is no bug.
    if (error instanceof StoreFailure && error.code === "store_closed") return;
    report(error instanceof Error ? error : new Error(String(error)));
  }
  const smallModel = createSmallModelLookup(store, models);
  const titler = createTitler(smallModel);
  const titles = new TitleGenerator({ log, ids, clock: systemClock, titler, onError });
  const liveness = createLiveness();
  const memory = createMemoryKeeper(log, memories, liveness, leaseMs.value, onError);
  const reviews = createReviews({
    log,
    reviewer: createReviewer(smallModel),
    providers: review.value === "on" ? memories : { ...memories, current: () => null },
    isPersons: isFromPerson,
    onError,
  });
  const tokens = createTokenCounter();
  const compactor = createCompactor(
    log,
    liveness,
    {
      summariser: createSummariser({ modelFor: smallModel, recordUsage: createUsageRecorder(log) }),
      windowOf: (name) => models.facts(name).window,
      count: tokens.count,
      learn: (texts) => tokens.preload(texts, tokenizerTimeoutMs),
    },
    (owner, session) => void memory.boundary(owner, session, "compaction"),
  );
  const notes = (owner: OwnerId) => notesSnapshot(home.value, owner);
  const prompt = createSystemPrompt({ home: home.value, workspaces: hands.workspaces, notes });
  const delegate = createDelegateTool({
    log,
    ids,
    clock: systemClock,
    notify: (...session) => runner.notify(...session),
    depth: config.delegateDepth.value,
    children: config.delegateChildren.value,
  });
  // The last one: what stands before it is the same for whoever does without.
  const handed = config.delegateDepth.value === 0 ? [] : [[delegate.name, delegate] as const];
  const tools = withServerTools(new Map([...hands.tools, ...handed]), mcp, log);
  const agents = createAgentCache({
    store,
    clock: systemClock,
    models,
    tools,
    prompt,
    onEvict: (session) => memory.evict(session),
    report: onError,
  });
  const place = saveAttachments(hands.workspaces, store.reads);
  const runner = new Runner({
    log,
    ids,
    clock: systemClock,
    random: Math.random,
    work: store.work,
    liveness,
    holder: () => currentHolder("runner"),
    leaseMs: leaseMs.value,
    policy: resume.value,
    // Reads alone: what this process was told about needs no sweep, and what it was not is found well within a lease.
    // Where the messages come in elsewhere nobody tells this process, and people wait for what it finds.
    sweepMs: roles.value.includes("web") ? leaseMs.value / 6 : remoteInputSweepMs,
    maxRuns: maxRuns,
    limits: runLimits(config),
    runsSharingBudget: (run) => delegationTree(store.reads, run),
    toolPolicy: hands.policy,
    agents,
    memoryOwnerOf: ({ lane }) =>
      isFromPerson({ lane, clientId: null }) ? memories.current() : null,
    recall: combineRecalls(createRecall({ providers: memories, clock: systemClock }), place),
    placeAttachments: place,
    fit: compactor,
    spills: journals,
    onSpillState: storing.publish,
    onEnded: (owner, session) => {
      titles.notify(owner, session);
      reviews.notify(owner, session);
      if (memories.handle !== null) memory.register(owner, session, memories.handle);
    },
    onError,
  });
  return {
    log,
    runner,
    agents,
    storageStatus: storing,
    titles,
    compactor,
    memory,
    reviews,
    prompt,
    journals,
  };
}

type SessionRef = { readonly owner: OwnerId; readonly session: SessionId };

/** Who does the small things for a session. */
function createSmallModelLookup(store: Store, models: ModelRegistry) {
  return async ({ owner, session }: SessionRef): Promise<{ name: string; model: Model }> => {
    const row = await store.reads.session(owner, session);
    const name = models.smallModel(row?.model ?? models.defaultModel());
    return { name, model: models.open(name) };
  };
}

/** What was spent beside the runs. A ledger that cannot be written now is not worth a summary. */
function createUsageRecorder(log: Log) {
  return async (
    { owner, session }: SessionRef,
    model: string,
    usage: ModelUsage,
  ): Promise<void> => {
    const spent = newEvent(ids.make("event"), "usage.recorded", usageData(model, usage));
    await log.commit({ owner, session, events: [spent], touch: "quiet" });
  };
}

/** A compaction does not wait longer for the exact numbers. */
const tokenizerTimeoutMs = 3_000;
const memoryTimeoutMs = 60_000;
const idleMs = 5 * 60_000;
const sweepMs = 60_000;

function createMemoryKeeper(
  log: Log,
  providers: ConfiguredMemory,
  liveness: Liveness,
  leaseMs: number,
  onError: (error: unknown) => void,
): MemoryCommitter {
  return new MemoryCommitter({
    log,
    ids,
    clock: systemClock,
    holder: () => currentHolder("memory"),
    liveness,
    leaseMs,
    providerTimeoutMs: memoryTimeoutMs,
    idleMs,
    sweepMs,
    providers,
    isFromPerson: isFromPerson,
    onError,
  });
}

/** Room for the first spill is taken now. A host without such a place works, and waits where others would spill. */
async function openSpillJournals(
  home: string,
  report: (bug: Error) => void,
): Promise<SpillStore | undefined> {
  try {
    const journals = await openSpillFolder(join(home, "spill"));
    await journals.reserve();
    return journals;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    report(new Error(`Nothing can be stored here while the store does not answer: ${reason}`));
    return undefined;
  }
}
