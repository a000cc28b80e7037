import { connect } from "node:net";
import { type Client, describeError } from "@holdfast/client";
import type { ProviderView } from "@holdfast/protocol";
import { type Config, isPostgres } from "../../ops/config/settings.ts";
import { formatTime } from "../transcript/describe.ts";
import {
  errorFinding,
  warningFinding,
  type DoctorFinding,
  okFinding,
  reasonOf,
} from "./finding.ts";

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
    const { version, encoding, now } = await readServerFacts({ url: storeUrl });
    return [
      Number(version.split(".")[0]) >= minPostgresVersion
        ? okFinding("PostgreSQL", `${version}, reachable`)
        : errorFinding(
            "PostgreSQL",
            `${version} is too old`,
            `Use ${minPostgresVersion} or newer.`,
          ),
      ...(encoding === "UTF8"
        ? []
        : [
            errorFinding(
              "PostgreSQL",
              `encoded in ${encoding}`,
              "Make a database with ENCODING 'UTF8'.",
            ),
          ]),
      clockFinding(now - Date.now(), "the database's"),
    ];
  } catch (error) {
    const mend = "Look at the address in HOLDFAST_STORE, the server, and its pg_hba.conf.";
    return [errorFinding("PostgreSQL", `it cannot be reached: ${reasonOf(error)}`, mend)];
  }
}

export function clockFinding(aheadMs: number, whose: string): DoctorFinding {
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1);
  const words = `${seconds} s ${aheadMs < 0 ? "behind" : "ahead of"} this machine's`;
  if (Math.abs(aheadMs) <= maxClockSkewMs)
    return okFinding("Clock", `${whose} and this machine's agree`);
  return warningFinding("Clock", `${whose} is ${words}`, "Keep both by NTP.");
}

/** Checks what the host itself knows: the store, the model, and the memory backlog. */
export async function checkHost(client: Client, home: string): Promise<DoctorFinding[]> {
  return [
    ...(await checkClock(client)),
    ...(await checkModels(client, home)),
    await checkMemory(client),
    ...(await checkCompactions(client)),
  ];
}

/** A compaction in progress is not a problem, but explains what a session is waiting for. */
async function checkCompactions(client: Client): Promise<DoctorFinding[]> {
  const listed = await client.listCompactions();
  // A host of an older version does not know this route.
  if (!listed.ok) return [];
  const { compactions } = listed.value;
  if (compactions.length === 0) return [okFinding("Compaction", "none in progress")];
  return compactions.map(({ sessionId, holder, expiresAt }) => {
    const { host, pid, thread, agent, nonce } = holder;
    const maker = `${agent} in thread ${thread} of process ${pid} on ${host} (${nonce})`;
    const words = `${sessionId} by ${maker}, held until ${formatTime(expiresAt)}`;
    return okFinding("Compaction", words);
  });
}

/** A clock that was set back would give new messages older times than existing ones. */
async function checkClock(client: Client): Promise<DoctorFinding[]> {
  const listed = await client.listSessions({ query: { limit: 1 } });
  if (!listed.ok)
    return [
      errorFinding(
        "Store",
        describeError(listed.error),
        "holdfast fsck says more about the store.",
      ),
    ];
  const [newest] = listed.value.sessions;
  const store = okFinding("Store", newest === undefined ? "opens, and is empty" : "opens");
  if (newest === undefined || newest.sortAt <= Date.now() + maxClockSkewMs)
    return [store, okFinding("Clock", new Date().toISOString())];
  const words = `the newest session is of ${formatTime(newest.sortAt)}, which is still to come`;
  return [store, errorFinding("Clock", words, "Set this machine's clock, by NTP if you can.")];
}

async function checkModels(client: Client, home: string): Promise<DoctorFinding[]> {
  const listed = await client.listModels();
  if (!listed.ok)
    return [errorFinding("Model", describeError(listed.error), "holdfast config shows why.")];
  const { usual, models, providers } = listed.value;
  const model = models.find(({ name }) => name === usual);
  const provider = providers.find((candidate) => candidate.provider === model?.provider);
  if (usual === "rehearsal") {
    const mend =
      "Paste a key on the page, under Settings, Models and keys, or set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or HOLDFAST_MODEL=ollama/…";
    const served = models.filter((candidate) =>
      /^(?:ollama|openai-compatible)\//.test(candidate.name),
    );
    return [
      warningFinding("Model", "the rehearsal model answers: no provider is set", mend),
      ...servedFinding(served.map(({ name }) => name)),
    ];
  }
  if (model?.usable !== true) {
    const mend = provider?.problem ?? `Look at model in holdfast config (${home}).`;
    return [errorFinding("Model", `${usual} cannot answer`, mend)];
  }
  const key =
    provider?.key.from === "none" ? "no key" : `a key (${provider?.key.name ?? "stored"})`;
  return [
    okFinding("Model", `${usual}, with ${key}`),
    ...(model.warning === undefined ? [] : [priceFinding(model.warning)]),
    ...(provider === undefined ? [] : [await checkProvider(provider)]),
  ];
}

function servedFinding([first, ...others]: readonly string[]): DoctorFinding[] {
  if (first === undefined) return [];
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return [okFinding("Local models", `${first}${more}: to use it, set HOLDFAST_MODEL=${first}`)];
}

function priceFinding(warning: string): DoctorFinding {
  const mend = 'Set its price, for example "models": {"…": {"price": {"input": 1, "output": 4}}}.';
  return warningFinding("Spend limit", warning, mend);
}

/** Whether its address can be reached. Nothing is sent: no key, no content. */
async function checkProvider({ title, baseUrl }: ProviderView): Promise<DoctorFinding> {
  const url = URL.parse(baseUrl ?? "");
  if (url === null) return okFinding("Provider", title);
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const failure = await tryConnection(url.hostname.replace(/^\[|\]$/g, ""), port);
  if (failure === undefined) return okFinding("Provider", `${title} can be reached at ${url.host}`);
  const mend = "Look at the network, the address, and whether the server runs.";
  return errorFinding("Provider", `${title} cannot be reached at ${url.host} (${failure})`, mend);
}

function tryConnection(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: connectTimeoutMs });
    const end = (failure: string | undefined): void => {
      socket.destroy();
      resolve(failure);
    };
    socket.once("connect", () => end(undefined));
    socket.once("timeout", () => end("no answer"));
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}

async function checkMemory(client: Client): Promise<DoctorFinding> {
  const result = await client.readMemory();
  if (!result.ok)
    return errorFinding("Memory", describeError(result.error), "holdfast fsck checks the store.");
  const { turns, oldestAt, failing } = result.value.backlog;
  const words = `${turns} ${turns === 1 ? "turn waits" : "turns wait"} to be remembered`;
  if (failing !== null)
    return errorFinding(
      "Memory",
      `${words}; the last try failed: ${failing.message}`,
      "See HOLDFAST_MEMORY.",
    );
  const isStale = oldestAt !== null && Date.now() - oldestAt > staleBacklogMs;
  return isStale
    ? warningFinding(
        "Memory",
        `${words}, some for long`,
        "A running host commits them when they rest.",
      )
    : okFinding("Memory", turns === 0 ? "nothing waits" : words);
}
