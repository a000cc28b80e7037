import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sleep } from "@holdfast/protocol";
import {
  type Config,
  flagOf,
  type SettingName,
  settingNames,
  variableOf,
} from "../../ops/config/settings.ts";
import { launchHost } from "../../sandbox/launch.ts";
import { withFileLock } from "../../util/atomic-file.ts";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import type { Arguments, Terminal } from "../command.ts";
import { connectionStrings } from "../strings/connection.ts";
import { findRunningHost } from "./running-hosts.ts";

const startTimeoutMs = 60_000;
const pollMs = 50;

/** The settings that a host needs are those of the command that starts it; where to find one is not among them. */
const ownSettings: ReadonlySet<SettingName> = new Set(["url", "token"]);

export interface FoundHost {
  readonly address: string;
  /** Who started it: this process, or others before. */
  readonly by: "us" | "others";
}

/**
 * The host that serves this home. If none does, one is started that outlives this process. Of several
 * processes that find none at the same time, only one starts it.
 */
export async function findOrStartHost(
  config: Config,
  { flags }: Pick<Arguments, "flags">,
  terminal: Pick<Terminal, "environment">,
): Promise<Outcome<FoundHost>> {
  const home = config.home.value;
  const until = Date.now() + startTimeoutMs;
  const environment = { ...terminal.environment, ...settingsFrom(flags), ...homeOf(config) };
  while (Date.now() < until) {
    const running = await findRunningHost(home);
    if (running !== undefined) return done({ address: running, by: "others" });
    const lock = join(home, "running", "start");
    const started = await withFileLock(lock, () => startUnlessRunning(config, environment));
    if (started !== "busy") return started;
    await sleep(pollMs);
  }
  return failed("store.unusable", connectionStrings.startedElsewhere);
}

function homeOf({ home }: Config): Record<string, string> {
  return { [variableOf("home")]: home.value };
}

function settingsFrom(flags: Arguments["flags"]): Record<string, string> {
  const given = settingNames.flatMap((name): [string, string][] => {
    const value = flags[flagOf(name)];
    return typeof value === "string" && !ownSettings.has(name) ? [[variableOf(name), value]] : [];
  });
  return Object.fromEntries(given);
}

async function startUnlessRunning(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Outcome<FoundHost>> {
  const home = config.home.value;
  const running = await findRunningHost(home);
  if (running !== undefined) return done({ address: running, by: "others" });
  const first = await startOnce(home, environment);
  // The usual port may belong to another home's host; a port that somebody chose is not replaced.
  const mayMove = config.port.source.from === "default" && !first.ok;
  if (!mayMove || first.failure.code !== "port.taken") return first;
  return startOnce(home, { ...environment, [variableOf("port")]: "0" });
}

async function startOnce(
  home: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Outcome<FoundHost>> {
  const log = join(home, "running", "host.log");
  mkdirSync(join(home, "running"), { recursive: true, mode: 0o700 });
  const file = openSync(log, "w", 0o600);
  const set = Object.entries(environment).filter((pair) => pair[1] !== undefined);
  const host = launchHost(
    {
      argv: [process.execPath, ...process.execArgv, process.argv[1] ?? "", "serve"],
      // Not the folder of whoever starts it, which could then not be removed.
      folder: home,
      environment: Object.fromEntries(set) as Record<string, string>,
    },
    file,
  );
  closeSync(file);
  host.unref();
  const gone = new AbortController();
  void Promise.race([once(host, "exit"), once(host, "error")])
    .catch(() => undefined)
    .then(() => gone.abort());
  for (let waited = 0; waited < startTimeoutMs && !gone.signal.aborted; waited += pollMs) {
    const address = await findRunningHost(home);
    if (address !== undefined) return done({ address, by: "us" });
    await sleep(pollMs, gone.signal);
  }
  const words = readFileSync(log, "utf8").trim().split("\n").at(-1) ?? "";
  const code =
    /port/i.test(words) && /already|taken|in use/i.test(words) ? "port.taken" : "store.unusable";
  return failed(code, connectionStrings.notStarted(words || connectionStrings.seeLog(log)));
}
