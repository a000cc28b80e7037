import { join } from "node:path";

import {
  type CacheFigures,
  createLog,
  createRecall,
  type JournalPlace,
  type Liveness,
  type Log,
  MemoryKeeper,
  type Model,
  type ModelUsage,
  type Reviews,
  Runner,
  type RunLimits,
  type Store,
  StoreFailure,
  systemClock,
  Titles,
  usageOfCall,
} from "@holdfast/engine";
import { ids, newEvent, type OwnerId, type SessionId } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";
import { openSpillFolder } from "@holdfast/store/spill";

import { openAgents } from "./agent-cache.ts";
import { createDelegate } from "../automation/delegate/tool.ts";
import { familyOf } from "../automation/delegate/family.ts";
import { type Compactor, openCompactor } from "./src-compaction.ts";
import { type Memories } from "./memory/providers.ts";
import { notesSnapshot } from "./memory/memory-notes.ts";
import { openReviews, reviewWith } from "./memory/reviews.ts";
import type { Config } from "../ops/config/settings.ts";
import { type Mcp, withoutServers } from "./mcp/index.ts";
import { withServerTools } from "./mcp/mcp.ts";
import { isPersonsWord } from "./runtime.ts";
import { openPrompt, type SystemPrompt } from "./index.ts";
import { summariseWith } from "./compaction.ts";
import { createTitler } from "./models/models-titler.ts";
import { type Models } from "./models/registry.ts";
import { createStoringBoard, type StoringBoard } from "../ops/health/store-health.ts";
import { createTokenCounter } from "./models/counter.ts";
import type { Hands } from "./hands.ts";
import { besides, placeAttachments } from "./workspace/attachments.ts";
import type { Metrics } from "../ops/telemetry/telemetry-metrics.ts";

/** What carries conversations in this process: the door to their logs, and the one who works on them. */
export interface Conversations {
  readonly log: Log;
  readonly runner: Runner;
  readonly agents: { figures(): CacheFigures };
  readonly storing: StoringBoard;
  readonly compactor: Compactor;
  readonly titles: Titles;
  readonly memory: MemoryKeeper;
  readonly reviews: Reviews;
  readonly prompt: SystemPrompt;
  readonly journals: JournalPlace | undefined;
}

const limits: RunLimits = { steps: 100, timeMs: 60 * 60_000, modelTries: 5 };
const mostRuns = 1_000;
const lonelySweepMs = 250;

function limitsOf({
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

export async function prepareConversations(
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
  models: Models,
  memories: Memories,
  hands: Pick<Hands, "tools" | "policy" | "workspaces">,
  report: (bug: Error) => void,
  mcp: Pick<Mcp, "tools"> = withoutServers,
  observe: Metrics["observe"] = () => undefined,
): Promise<Conversations> {
  const { home, leaseMs, resume, review, roles } = config;
  const log = createLog(store, { observe });
  const storing = createStoringBoard();
  const journals = await openJournals(home.value, report);
  function onError(error: unknown): void {
    // A look through the store that was under way when the host stopped: that is no bug.
    if (error instanceof StoreFailure && error.code === "store_closed") return;
    report(error instanceof Error ? error : new Error(String(error)));
  }
  const smallModel = smallModelFor(store, models);
  const titler = createTitler(smallModel);
  const titles = new Titles({ log, ids, clock: systemClock, titler, onError });
  const liveness = createLiveness();
  const memory = keepMemory(log, memories, liveness, leaseMs.value, onError);
  const reviews = openReviews({
    log,
    reviewer: reviewWith(smallModel),
    providers: review.value === "on" ? memories : { ...memories, current: () => null },
    isPersons: isPersonsWord,
    onError,
  });
  const tokens = createTokenCounter();
  const compactor = openCompactor(
    log,
    liveness,
    {
      summariser: summariseWith({ modelFor: smallModel, spent: ledgerOf(log) }),
      windowOf: (name) => models.facts(name).window,
      count: tokens.count,
      learn: (texts) => tokens.learn(texts, tokenizerPatienceMs),
    },
    (owner, session) => void memory.boundary(owner, session, "compaction"),
  );
  const notes = (owner: OwnerId) => notesSnapshot(home.value, owner);
  const prompt = openPrompt({ home: home.value, workspaces: hands.workspaces, notes });
  const delegate = createDelegate({
    log,
    ids,
    clock: systemClock,
    poke: (...session) => runner.poke(...session),
    depth: config.delegateDepth.value,
    children: config.delegateChildren.value,
  });
  // The last one: what stands before it is the same for whoever does without.
  const handed = config.delegateDepth.value === 0 ? [] : [[delegate.name, delegate] as const];
  const tools = withServerTools(new Map([...hands.tools, ...handed]), mcp, log);
  const agents = openAgents({
    store,
    clock: systemClock,
    models,
    tools,
    prompt,
    letGo: (session) => memory.evict(session),
    report: onError,
  });
  const place = placeAttachments(hands.workspaces, store.reads);
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
    sweepMs: roles.value.includes("web") ? leaseMs.value / 6 : lonelySweepMs,
    maxRuns: mostRuns,
    limits: limitsOf(config),
    spendsWith: (run) => familyOf(store.reads, run),
    toolPolicy: hands.policy,
    agents,
    remembers: ({ lane }) => (isPersonsWord({ lane, clientId: null }) ? memories.current() : null),
    recall: besides(createRecall({ providers: memories, clock: systemClock }), place),
    place,
    fit: compactor,
    journals,
    onStoring: storing.tell,
    onEnded: (owner, session) => {
      titles.poke(owner, session);
      reviews.poke(owner, session);
      if (memories.handle !== null) memory.register(owner, session, memories.handle);
    },
    onError,
  });
  return { log, runner, agents, storing, titles, compactor, memory, reviews, prompt, journals };
}

type OfSession = { readonly owner: OwnerId; readonly session: SessionId };

/** Who does the small things for a session. */
function smallModelFor(store: Store, models: Models) {
  return async ({ owner, session }: OfSession): Promise<{ name: string; model: Model }> => {
    const row = await store.reads.session(owner, session);
    const name = models.small(row?.model ?? models.usual());
    return { name, model: models.open(name) };
  };
}

/** What was spent beside the runs. A ledger that cannot be written now is not worth a summary. */
function ledgerOf(log: Log) {
  return async ({ owner, session }: OfSession, model: string, usage: ModelUsage): Promise<void> => {
    const spent = newEvent(ids.make("event"), "usage.recorded", usageOfCall(model, usage));
    await log.commit({ owner, session, events: [spent], touch: "quiet" });
  };
}

/** A compaction does not wait longer for the exact numbers. */
const tokenizerPatienceMs = 3_000;
const memoryPatienceMs = 60_000;
const idleMs = 5 * 60_000;
const sweepMs = 60_000;

function keepMemory(
  log: Log,
  providers: Memories,
  liveness: Liveness,
  leaseMs: number,
  onError: (error: unknown) => void,
): MemoryKeeper {
  return new MemoryKeeper({
    log,
    ids,
    clock: systemClock,
    holder: () => currentHolder("memory"),
    liveness,
    leaseMs,
    patienceMs: memoryPatienceMs,
    idleMs,
    sweepMs,
    providers,
    isPersons: isPersonsWord,
    onError,
  });
}

/** Room for the first spill is taken now. A host without such a place works, and waits where others would spill. */
async function openJournals(
  home: string,
  report: (bug: Error) => void,
): Promise<JournalPlace | undefined> {
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
