import { join } from "node:path";
import {
  type CompactorDeps,
  createEngine,
  createLog,
  type Engine,
  type IsFromPerson,
  type Log,
  type LostEvents,
  type SpillStore,
  type Model,
  type ConversationReviewer,
  type Recall,
  type RunLimits,
  type RunPlacement,
  type Store,
  StoreFailure,
  systemClock,
  TitleGenerator,
  type Tool,
} from "@holdfast/engine";
import {
  briefOf,
  budgetOfChild,
  childLanePrefix,
  descendantsOf,
} from "../automation/delegate/child-session.ts";
import { processLanePrefix } from "../automation/processes/end-report.ts";
import { ids, type OwnerId, type Part, type SessionId } from "@holdfast/protocol";
import { openSpillFolder } from "@holdfast/store/spill";
import { createAgentFactory, memoryPressure } from "./agent-factory.ts";
import { createDelegateTool } from "../automation/delegate/delegate-tool.ts";
import { createSummariser, createUsageRecorder } from "./compaction.ts";
import { messageTime } from "./message-time.ts";
import { type ConfiguredMemory } from "./memory/providers.ts";
import { notesText } from "./memory/notes.ts";
import { guidanceBlocks, openGuidanceStore } from "./instructions/guidance-store.ts";
import { instructionsTexts, openInstructionsStore } from "./instructions/instructions-store.ts";
import { openPersonaStore, type PersonaStore } from "./instructions/persona-store.ts";
import { filesSignature, projectFilesText } from "./instructions/project-file-text.ts";
import { openProjectFiles, type ProjectFile } from "./instructions/project-files.ts";
import { openProjectStore, type Project, projectText } from "./instructions/project-store.ts";
import { createReviews, createReviewer } from "./memory/reviews.ts";
import type { Config } from "../ops/config/settings.ts";
import type { SpendLimits } from "../ops/spending/spend-limits.ts";
import { createSpending } from "../ops/spending/spending.ts";
import { withServerTools } from "./mcp/agent-tools.ts";
import type { Mcp } from "./mcp/mcp.ts";
import { createSignInNotices } from "./mcp/sign-in/notices.ts";
import type { SignIns } from "./mcp/sign-in/sign-ins.ts";
import { createSessionTools } from "./session-tools.ts";
import { mayReadMemory } from "./memory-access.ts";
import { openProfiles, type Profiles } from "./profiles/profiles.ts";
import { moveTrustFile, openWorkspaceTrust } from "./workspace-trust.ts";
import { createSystemPrompt, type OwnTexts, type SystemPrompt } from "./system-prompt.ts";
import { withoutDisabled } from "../ops/page-settings/disabled-tools.ts";
import { searchTools, withWebSearch } from "./search/with-web-search.ts";
import type { WebSearch } from "./search/web-search.ts";
import { skillsOfMessages } from "./skills/skill-message.ts";
import { createSkillTool } from "./skills/skill-tool.ts";
import { openSkills, type Skills } from "./skills/skills.ts";
import { createTitler } from "./models/titler.ts";
import { type ModelRegistry } from "./models/registry.ts";
import { createStorageStatus, type StorageStatus } from "../ops/health/store-health.ts";
import { createTokenCounter } from "./models/token-counter.ts";
import type { Toolset } from "./toolset.ts";
import { readAttachedTexts } from "./documents/attachment-text.ts";
import { saveAttachments } from "./workspace/attachments.ts";
import { createModeLimit } from "../rights/session-modes.ts";
import { owner as operator } from "../server/auth/authenticator.ts";
import { isKeyOwner } from "../server/auth/api-keys.ts";
import { openRightsResolver } from "../rights/resolve-rights.ts";
import type { Metrics } from "../ops/telemetry/metrics.ts";

/** Prefixes of lanes and client ids of messages from other agents, background processes and programs. */
const automatedPrefixes = [childLanePrefix, processLanePrefix, "webhook:"];

/**
 * Memory commits only what people said: text from elsewhere would reach every later session without anyone's consent.
 * The host's own messages in a chat have the chat's lane, so their client id tells them apart.
 */
const isFromPerson: IsFromPerson = ({ lane, clientId }) =>
  !automatedPrefixes.some((prefix) => lane?.startsWith(prefix) || clientId?.startsWith(prefix));

/** The host's engine, and the dependencies of it that other parts use too. */
export interface AgentRuntime {
  readonly engine: Engine;
  readonly storageStatus: StorageStatus;
  readonly titles: TitleGenerator;
  readonly reviews: ConversationReviewer;
  readonly spendLimits: SpendLimits;
  readonly prompt: SystemPrompt;
  readonly personas: PersonaStore;
  readonly skills: Skills;
  readonly profiles: Profiles;
  readonly journals: SpillStore | undefined;
  /** Every tool that agents could have. */
  readonly listTools: () => Promise<readonly Tool[]>;
}

export interface AgentRuntimeDeps {
  readonly config: Pick<
    Config,
    | "home"
    | "leaseMs"
    | "compactIdleMs"
    | "compactIdlePercent"
    | "compactionLockMs"
    | "resume"
    | "review"
    | "roles"
    | "spendPerRun"
    | "spendPerDay"
    | "spendPerSession"
    | "delegateDepth"
    | "delegateChildren"
    | "disabledTools"
    | "timeZone"
  >;
  readonly store: Store;
  readonly models: ModelRegistry;
  readonly memory: ConfiguredMemory;
  readonly toolset: Pick<
    Toolset,
    "tools" | "policy" | "workspaces" | "facts" | "pdfs" | "confinement"
  >;
  /** Absent where nothing searches the web. */
  readonly webSearch?: Pick<WebSearch, "account" | "search">;
  readonly report: (bug: Error) => void;
  /** Called when the database has lost events that were acknowledged. */
  readonly onLost?: (log: Log, lost: readonly LostEvents[]) => void;
  /** Without it there are no MCP servers, now or later. */
  readonly mcp?: Pick<Mcp, "tools" | "signInOf" | "signInUrl"> | undefined;
  readonly signIns?: Pick<SignIns, "link">;
  readonly observe?: Metrics["observe"];
  /** Which host runs a session. By default this one does. */
  readonly placement?: RunPlacement | undefined;
  /** Whether this process executes runs. By default it does. */
  readonly runs?: "here" | "elsewhere";
}

/** Nine tries last about a minute: a provider that restarts is back by then. */
const stepLimits: RunLimits = { steps: 100, timeMs: 60 * 60_000, modelTries: 9 };
const remoteInputSweepMs = 250;

function idleCompaction(
  {
    compactIdleMs: { value: restMs },
    compactIdlePercent: { value: percent },
  }: Pick<Config, "compactIdleMs" | "compactIdlePercent">,
  { knownWindow: windowOf }: Pick<ModelRegistry, "knownWindow">,
): Pick<CompactorDeps, "whenIdle"> {
  return restMs === 0 ? {} : { whenIdle: { restMs, fullShare: percent / 100, windowOf } };
}

export async function createAgentRuntime(deps: AgentRuntimeDeps): Promise<AgentRuntime> {
  const { config, store, models, memory, toolset, webSearch, report, mcp, runs = "here" } = deps;
  const { home, leaseMs, resume, review, roles } = config;
  const { observe, onLost } = deps;
  const log: Log = createLog(store, {
    ...(observe && { observe }),
    ...(onLost && { onLost: (lost) => onLost(log, lost) }),
  });
  const storageStatus = createStorageStatus();
  const journals = await openSpillJournals(home.value, report);
  function onError(error: unknown): void {
    // Not a bug: a scan of the store was under way when the host stopped.
    if (error instanceof StoreFailure && error.code === "store_closed") return;
    report(error instanceof Error ? error : new Error(String(error)));
  }
  const rights = openRightsResolver(store.register);
  const smallModel = createSmallModelLookup(store, models);
  const { mayCallModel, spendLimits, ...spending } = createSpending({ log, config, stepLimits });
  const recordUsage = createUsageRecorder(log);
  const titler = createTitler(smallModel, recordUsage);
  const titles = new TitleGenerator({
    log,
    ids,
    clock: systemClock,
    titler,
    mayCallModel,
    onError,
  });
  const reviews = createReviews({
    log,
    mayCallModel,
    reviewer: createReviewer(smallModel, recordUsage),
    providers: review.value === "on" ? memory : { ...memory, current: () => null },
    isPersons: isFromPerson,
    onError,
  });
  const tokens = createTokenCounter();
  const { facts, workspaces } = toolset;
  /** Nothing for a session that was made for a lane without access to memory. */
  const ifReadable = (texts: OwnTexts): OwnTexts => ({
    text: async (whose) => ((await mayReadMemory(store, rights, whose)) ? texts.text(whose) : ""),
    withdrawals: async (whose) =>
      (await mayReadMemory(store, rights, whose)) ? texts.withdrawals(whose) : 0,
  });
  const personas = openPersonaStore({ register: store.register, home: home.value });
  const projects = openProjectStore(store.register);
  const projectFiles = openProjectFiles(store);
  async function projectOf(whose: SessionRef): Promise<Project | null> {
    const row = await store.reads.session(whose.owner, whose.session);
    const isReadable = row?.project != null && (await mayReadMemory(store, rights, whose));
    return isReadable ? projects.named(whose.owner, row.project) : null;
  }
  async function filesOf(whose: SessionRef): Promise<readonly ProjectFile[]> {
    const project = await projectOf(whose);
    return project === null ? [] : projectFiles.list(whose.owner, project.id);
  }
  const skills = openSkills({
    home: home.value,
    operator,
    register: store.register,
    workspaces,
    clone: { environment: process.env, confinement: deps.toolset.confinement },
    mayUse: (whose) => mayReadMemory(store, rights, whose),
  });
  const profiles = openProfiles({
    home: home.value,
    operator,
    register: store.register,
    workspaces,
    mayUse: (whose) => mayReadMemory(store, rights, whose),
    models,
    rightsOfProfile: (owner, name) => rights.ofProfile(owner, name),
    tools: async () => (await listTools()).map(({ name }) => name),
  });
  await moveTrustFile(home.value, store.register, deps.report);
  const prompt = createSystemPrompt({
    home: home.value,
    workspaces,
    trust: openWorkspaceTrust(store.register),
    persona: async ({ owner, session }) => {
      const brief = await briefOf(store.reads, owner, session);
      if (brief?.profile !== undefined) return brief.profile.prompt;
      const row = await store.reads.session(owner, session);
      return (await personas.resolve(row?.persona ?? null)).text;
    },
    guidance: guidanceBlocks(openGuidanceStore(store.register)),
    instructions: ifReadable(instructionsTexts(openInstructionsStore(store.register))),
    project: async (whose) => projectText(await projectOf(whose)),
    files: {
      signature: async (whose) => filesSignature(await filesOf(whose)),
      text: async (whose) =>
        projectFilesText(await filesOf(whose), whose.owner, {
          reads: store.reads,
          pdfs: toolset.pdfs,
        }),
    },
    skills,
    agents: profiles,
    notes: ifReadable({
      text: async ({ owner }) => notesText(await facts.list(owner)),
      withdrawals: ({ owner }) => facts.withdrawals(owner),
    }),
  });
  const delegate = createDelegateTool({
    log,
    ids,
    clock: systemClock,
    notify: (...session) => engine.notify(...session),
    profiles,
    depth: config.delegateDepth.value,
    children: config.delegateChildren.value,
  });
  // Last, so that the tools before it are the same for agents without it.
  const delegation = config.delegateDepth.value === 0 ? [] : [[delegate.name, delegate] as const];
  const skillTool = createSkillTool({ skills, reads: store.reads });
  const ownTools = new Map([...toolset.tools, ...delegation, [skillTool.name, skillTool] as const]);
  const signInNotices = createSignInNotices({
    log,
    link: async (name) => {
      const url = mcp?.signInUrl(name) ?? null;
      return url === null ? null : ((await deps.signIns?.link(name, url)) ?? null);
    },
    // Sessions of API keys have an owner of their own, who signs in to nothing here.
    mayAnswer: async (owner, lane) =>
      !isKeyOwner(owner) && (await rights.ofLane(owner, lane)).approvals,
  });
  const allTools =
    mcp === undefined
      ? async () => ({ tools: ownTools, signature: "" })
      : withServerTools(ownTools, mcp, log, signInNotices);
  const tools = withoutDisabled(
    withWebSearch(allTools, webSearch),
    () => config.disabledTools.value,
  );
  const engine = createEngine({
    log,
    rightsOf: rights.ofMessage,
    modeLimit: createModeLimit(store.reads),
    agents: createAgentFactory({
      store,
      models,
      tools,
      prompt,
      toolsFor: createSessionTools({ skills, profiles }),
      effortOf: async ({ owner, session }) =>
        (await briefOf(store.reads, owner, session))?.effort ?? null,
    }),
    memoryPressure,
    leaseMs: leaseMs.value,
    resume: resume.value,
    // Without the web role and signals nothing tells this process of new messages, so it scans often: people wait.
    ...(!roles.value.includes("web") &&
      store.watchWork === undefined && { sweepMs: remoteInputSweepMs }),
    ...spending,
    budgets: {
      of: (run) => budgetOfChild(store.reads, run),
      runsBelow: (run) => descendantsOf(store.reads, run),
    },
    toolPolicy: toolset.policy,
    compaction: {
      summariser: createSummariser({ modelFor: smallModel, recordUsage }),
      windowOf: (name) => models.facts(name).window,
      count: tokens.count,
      learn: (texts) => tokens.preload(texts, tokenizerTimeoutMs),
      lockMs: config.compactionLockMs.value,
      ...idleCompaction(config, models),
    },
    memory,
    isFromPerson,
    placeAttachments: inTurn(
      saveAttachments(toolset.workspaces, store.reads),
      readAttachedTexts(toolset.pdfs, store.reads),
      messageTime({ now: () => store.now(), timeZone: () => config.timeZone.value }),
      skillsOfMessages(skills, store.reads),
    ),
    ...(deps.placement && { placement: deps.placement }),
    spills: journals,
    onSpillState: storageStatus.publish,
    afterRun: [titles, reviews],
    runs,
    starts: "when asked",
    onError,
  });
  const listTools = async () => [
    ...new Map([
      ...ownTools,
      ...((await mcp?.tools())?.tools ?? []),
      ...searchTools(webSearch),
      ...ownTools,
    ]).values(),
  ];
  return {
    engine,
    storageStatus,
    spendLimits,
    titles,
    reviews,
    prompt,
    personas,
    skills,
    profiles,
    journals,
    listTools,
  };
}

/** What all of them give for a message, in their order. */
function inTurn(...recalls: readonly Recall[]): Recall {
  return async (query) => {
    const parts: Part[] = [];
    for (const recall of recalls) parts.push(...(await recall(query)));
    return parts;
  };
}

type SessionRef = { readonly owner: OwnerId; readonly session: SessionId };

/** The model for small tasks of a session, such as titles. */
function createSmallModelLookup(store: Store, models: ModelRegistry) {
  return async ({ owner, session }: SessionRef): Promise<{ name: string; model: Model }> => {
    const row = await store.reads.session(owner, session);
    const name = models.smallModel(row?.model ?? models.defaultModel());
    return { name, model: models.open(name) };
  };
}

/** How long a compaction waits for exact token counts. */
const tokenizerTimeoutMs = 3_000;
/** Reserves room for the first spill. Without a place for spills a host works, but waits where it would spill. */
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
