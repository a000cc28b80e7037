import { connect } from "node:net";
import { type Client, describeError } from "@holdfast/client";
import type { ProviderView } from "@holdfast/protocol";
import { type Config, isPostgres } from "../../ops/config/settings.ts";
import { formatTime } from "../transcript/describe.ts";
import { doctorStrings } from "../strings/doctor.ts";
import {
  errorFinding,
  warningFinding,
  type DoctorFinding,
  okFinding,
  reasonOf,
} from "./finding.ts";

const { checks, host: texts, postgres, clock } = doctorStrings;
const minPostgresVersion = 14;
const maxClockSkewMs = 5_000;
const connectTimeoutMs = 3_000;
const staleBacklogMs = 3_600_000;

/** Checks the database without opening it as a store. */
export async function checkPostgres(config: Config): Promise<DoctorFinding[]> {
  const storeUrl = config.store.value;
  if (storeUrl === undefined || !isPostgres(storeUrl)) return [];
  try {
    const { readServerFacts } = await import("@holdfast/store/postgres");
    const listenUrl = config.storeListenUrl.value;
    const { version, encoding, now } = await readServerFacts({
      url: storeUrl,
      ...(listenUrl !== undefined && { listenUrl }),
    });
    return [
      Number(version.split(".")[0]) >= minPostgresVersion
        ? okFinding(checks.postgres, postgres.ok(version))
        : errorFinding(
            checks.postgres,
            postgres.tooOld(version),
            postgres.upgrade(minPostgresVersion),
          ),
      ...(encoding === "UTF8"
        ? []
        : [errorFinding(checks.postgres, postgres.encoding(encoding), postgres.makeUtf8)]),
      clockFinding(now - Date.now(), postgres.whoseClock),
    ];
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "store_pooled")
      return [errorFinding(checks.postgres, postgres.pooled, postgres.pooledMend)];
    return [errorFinding(checks.postgres, postgres.away(reasonOf(error)), postgres.awayMend)];
  }
}

export function clockFinding(aheadMs: number, whose: string): DoctorFinding {
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1);
  if (Math.abs(aheadMs) <= maxClockSkewMs) return okFinding(checks.clock, clock.agrees(whose));
  const words = (aheadMs < 0 ? clock.behind : clock.ahead)(whose, seconds);
  return warningFinding(checks.clock, words, clock.useNtp);
}

/** Those that no session works in, but that nobody may remove unasked. */
async function checkWorktrees(client: Client): Promise<DoctorFinding[]> {
  const listed = await client.listWorktrees();
  const all = listed.ok ? listed.value.worktrees : [];
  return all
    .filter(({ isUsed }) => !isUsed)
    .map(({ id, branch, folder }) =>
      warningFinding(checks.worktrees, texts.worktree(branch, folder), texts.worktreeMend(id)),
    );
}

/** Checks what the host itself knows: the store, the model, and the memory backlog. */
export async function checkHost(client: Client, home: string): Promise<DoctorFinding[]> {
  return [
    ...(await checkClock(client)),
    ...(await checkLosses(client)),
    ...(await checkModels(client, home)),
    await checkMemory(client),
    ...(await checkCompactions(client)),
    ...(await checkWorktrees(client)),
  ];
}

/** A database that failed over, or was restored, may lack what it had confirmed. */
async function checkLosses(client: Client): Promise<DoctorFinding[]> {
  const read = await client.health();
  const lost = read.ok ? read.value.store?.lost : undefined;
  if (lost === undefined) return [];
  const words = texts.lost(lost.sessions, formatTime(lost.at));
  return [errorFinding(checks.store, words, texts.lostMend)];
}

/** A compaction in progress is not a problem, but explains what a session is waiting for. */
async function checkCompactions(client: Client): Promise<DoctorFinding[]> {
  const listed = await client.listCompactions();
  // A host of an older version does not know this route.
  if (!listed.ok) return [];
  const { compactions } = listed.value;
  if (compactions.length === 0) return [okFinding(checks.compaction, texts.compactions)];
  return compactions.map(({ sessionId, holder, expiresAt }) => {
    return okFinding(checks.compaction, texts.compaction(sessionId, holder, formatTime(expiresAt)));
  });
}

/** A clock that was set back would give new messages older times than existing ones. */
async function checkClock(client: Client): Promise<DoctorFinding[]> {
  const listed = await client.listSessions({ query: { limit: 1 } });
  if (!listed.ok) return [errorFinding(checks.store, describeError(listed.error), texts.fsck)];
  const [newest] = listed.value.sessions;
  const store = okFinding(checks.store, newest === undefined ? texts.storeEmpty : texts.storeOk);
  if (newest === undefined || newest.sortAt <= Date.now() + maxClockSkewMs)
    return [store, okFinding(checks.clock, new Date().toISOString())];
  const words = clock.future(formatTime(newest.sortAt));
  return [store, errorFinding(checks.clock, words, clock.setClock)];
}

async function checkModels(client: Client, home: string): Promise<DoctorFinding[]> {
  const listed = await client.listModels();
  if (!listed.ok)
    return [errorFinding(checks.model, describeError(listed.error), texts.modelsMend)];
  const { usual, models, providers } = listed.value;
  const model = models.find(({ name }) => name === usual);
  const provider = providers.find((candidate) => candidate.provider === model?.provider);
  if (usual === "rehearsal") {
    const served = models.filter((candidate) =>
      /^(?:ollama|openai-compatible)\//.test(candidate.name),
    );
    return [
      warningFinding(checks.model, texts.rehearsal, texts.rehearsalMend),
      ...servedFinding(served.map(({ name }) => name)),
    ];
  }
  if (model?.usable !== true) {
    const mend = provider?.problem ?? texts.modelMend(home);
    return [errorFinding(checks.model, texts.modelUnusable(usual), mend)];
  }
  const key =
    provider?.key.from === "none" ? texts.noKey : texts.key(provider?.key.name ?? texts.storedKey);
  return [
    okFinding(checks.model, texts.model(usual, key)),
    ...(model.warning === undefined ? [] : [priceFinding(model.warning)]),
    ...(provider === undefined ? [] : [await checkProvider(provider)]),
  ];
}

function servedFinding([first, ...others]: readonly string[]): DoctorFinding[] {
  if (first === undefined) return [];
  return [okFinding(checks.localModels, texts.localModels(first, others.length))];
}

function priceFinding(warning: string): DoctorFinding {
  return warningFinding(checks.spend, warning, texts.priceMend);
}

/** Whether its address can be reached. Nothing is sent: no key, no content. */
async function checkProvider({ title, baseUrl }: ProviderView): Promise<DoctorFinding> {
  const url = URL.parse(baseUrl ?? "");
  if (url === null) return okFinding(checks.provider, title);
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const failure = await tryConnection(url.hostname.replace(/^\[|\]$/g, ""), port);
  if (failure === undefined) return okFinding(checks.provider, texts.providerOk(title, url.host));
  const words = texts.providerAway(title, url.host, failure);
  return errorFinding(checks.provider, words, texts.providerMend);
}

function tryConnection(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: connectTimeoutMs });
    const end = (failure: string | undefined): void => {
      socket.destroy();
      resolve(failure);
    };
    socket.once("connect", () => end(undefined));
    socket.once("timeout", () => end(texts.noAnswer));
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}

async function checkMemory(client: Client): Promise<DoctorFinding> {
  const result = await client.readMemory();
  if (!result.ok) return errorFinding(checks.memory, describeError(result.error), texts.fsck);
  const { turns, oldestAt, failing } = result.value.backlog;
  if (failing !== null)
    return errorFinding(
      checks.memory,
      texts.memoryFailing(turns, failing.message),
      texts.memoryFailingMend,
    );
  const isStale = oldestAt !== null && Date.now() - oldestAt > staleBacklogMs;
  return isStale
    ? warningFinding(checks.memory, texts.memoryStale(turns), texts.memoryStaleMend)
    : okFinding(checks.memory, turns === 0 ? texts.memoryOk : texts.memoryTurns(turns));
}
