import { existsSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { similarNames } from "@holdfast/client";
import type { SchemaState } from "@holdfast/store/sqlite";
import type { UpgradeFacts } from "@holdfast/store/postgres";

import { readConfig } from "../../ops/config/read-config.ts";
import { type Config, isPostgres, settingNames, variableOf } from "../../ops/config/settings.ts";
import { listBackups } from "../../ops/transfer/backup.ts";
import { type Command, exit, hasFlag, type Terminal } from "../command.ts";
import { findRunningHost } from "../connection/running-hosts.ts";
import { cleanJson } from "../screen/text.ts";
import { doctorStrings } from "../strings/doctor.ts";
import { upgradeStrings as texts } from "../strings/upgrade.ts";
import { formatTime } from "../transcript/describe.ts";
import {
  type DoctorFinding,
  errorFinding,
  okFinding,
  reasonOf,
  warningFinding,
} from "./finding.ts";
import { checkNode } from "./machine.ts";
import { printFindings } from "./print-findings.ts";

const { checks } = texts;
const bytesPerMegabyte = 1024 * 1024;
const spareBytes = 100 * bytesPerMegabyte;
const recentBackupMs = 24 * 60 * 60_000;
/** A migration waits half a second for a table before it tries again. */
const longTransactionSeconds = 5;

export const upgradeCheck: Command = {
  usage: ["upgrade-check"],
  about: texts.about,
  flags: { json: { type: "boolean", about: texts.flags.json } },
  examples: [
    ["holdfast upgrade-check", texts.examples.check],
    ["holdfast upgrade-check --json", texts.examples.json],
    ["holdfast upgrade-check --store postgres://me@db/holdfast", texts.examples.postgres],
  ],
  settings: "host",
  async run(given, terminal) {
    const findings = await checkUpgrade(given.flags, terminal);
    if (hasFlag(given, "json")) terminal.print(cleanJson(findings));
    else printFindings(findings, terminal);
    return findings.some(({ state }) => state === "bad") ? exit.failed : exit.done;
  },
};

async function checkUpgrade(
  flags: Readonly<Record<string, unknown>>,
  terminal: Terminal,
): Promise<readonly DoctorFinding[]> {
  const before = [checkNode(process.versions.node), ...checkVariables(terminal.environment)];
  const config = readConfig({ ...terminal, flags });
  if (!config.ok) {
    const { settings } = doctorStrings.checks;
    const problem = errorFinding(settings, config.failure.message, texts.variables.settingsMend);
    return [...before, problem, okFinding(checks.next, texts.next.fix)];
  }
  const settings = okFinding(doctorStrings.checks.settings, doctorStrings.settings.ok);
  const store = config.value.store.value;
  const found =
    store !== undefined && isPostgres(store)
      ? await checkPostgresUpgrade(store, config.value.storeListenUrl.value)
      : await checkSqliteUpgrade(config.value, Date.now());
  const findings = [...before, settings, ...found.findings];
  return [...findings, nextFinding(findings, found.schema)];
}

interface StoreFindings {
  readonly findings: readonly DoctorFinding[];
  /** `null` where it could not be read, or there is no store. */
  readonly schema: SchemaState | null;
}

async function checkSqliteUpgrade(config: Config, now: number): Promise<StoreFindings> {
  const home = config.home.value;
  const file = config.store.value ?? join(home, "holdfast.db");
  if (!existsSync(file))
    return { findings: [okFinding(checks.schema, texts.schema.empty)], schema: null };
  let schema: SchemaState;
  try {
    const { readSqliteSchemaState } = await import("@holdfast/store/sqlite");
    schema = readSqliteSchemaState(file);
  } catch (error) {
    return unreadable(error);
  }
  const isPending = schema.pending.length > 0;
  const findings = [
    schemaFinding(schema),
    runningFinding(await findRunningHost(home), isPending),
    spaceFinding(file, isPending),
    await backupFinding(home, now, isPending),
  ];
  return { findings, schema };
}

async function checkPostgresUpgrade(
  url: string,
  listenUrl: string | undefined,
): Promise<StoreFindings> {
  let facts: UpgradeFacts;
  try {
    const { readUpgradeFacts } = await import("@holdfast/store/postgres");
    facts = await readUpgradeFacts({ url, ...(listenUrl !== undefined && { listenUrl }) });
  } catch (error) {
    return unreadable(error);
  }
  const { schema, hosts, longest } = facts;
  if (schema.current === 0)
    return { findings: [okFinding(checks.schema, texts.schema.empty)], schema: null };
  const beside = besideFinding(schema);
  const count = hosts.reduce((sum, host) => sum + host.connections, 0);
  const addresses = hosts.map(({ address }) => address ?? texts.hosts.local);
  const connected = texts.hosts.connected(count, addresses);
  const isWaiting = longest !== null && longest.seconds >= longTransactionSeconds;
  const hostsFinding =
    count === 0
      ? okFinding(checks.hosts, texts.hosts.noneConnected)
      : beside?.state === "bad"
        ? errorFinding(checks.hosts, connected, texts.hosts.stopAll)
        : okFinding(checks.hosts, `${connected}. ${texts.hosts.replaceOne}`);
  const findings = [
    schemaFinding(schema),
    // One that is not connected right now may come back.
    ...(beside === null ? [] : [count === 0 ? withoutHosts(beside) : beside]),
    hostsFinding,
    ...(schema.pending.length > 0
      ? [
          isWaiting
            ? warningFinding(
                checks.locks,
                texts.locks.held(longest.pid, longest.seconds),
                texts.locks.mend(longest.pid),
              )
            : okFinding(checks.locks, texts.locks.free),
        ]
      : []),
    warningFinding(doctorStrings.checks.backup, texts.backup.postgres, texts.backup.postgresMend),
  ];
  return { findings, schema };
}

const withoutHosts = (beside: DoctorFinding): DoctorFinding =>
  beside.state === "bad" ? { ...beside, state: "care" } : beside;

function unreadable(error: unknown): StoreFindings {
  const words = texts.schema.unreadable(reasonOf(error));
  return {
    findings: [errorFinding(checks.schema, words, texts.schema.unreadableMend)],
    schema: null,
  };
}

function schemaFinding({ current, newest, needed, pending }: SchemaState): DoctorFinding {
  if (current <= newest)
    return okFinding(
      checks.schema,
      pending.length === 0
        ? texts.schema.same(current)
        : texts.schema.pending(current, newest, pending),
    );
  return needed > newest
    ? errorFinding(
        checks.schema,
        texts.schema.tooNew(current, needed, newest),
        texts.schema.tooNewMend,
      )
    : warningFinding(checks.schema, texts.schema.newer(current, newest), texts.schema.newerMend);
}

/** Whether hosts that use the store as it is go on beside what would run; `null` if nothing would. */
function besideFinding({ current, pending }: SchemaState): DoctorFinding | null {
  if (pending.length === 0) return null;
  const strictest = pending.reduce((most, each) =>
    each.oldestHost > most.oldestHost ? each : most,
  );
  if (strictest.oldestHost <= current)
    return okFinding(checks.beside, texts.beside.postgres(strictest.oldestHost));
  const words =
    strictest.oldestHost === strictest.number
      ? texts.beside.stopAll(strictest.number, strictest.name)
      : texts.beside.olderThanSchema(strictest.oldestHost, current);
  return errorFinding(checks.beside, words, texts.beside.stopAllMend);
}

function runningFinding(address: string | undefined, isPending: boolean): DoctorFinding {
  if (address === undefined) return okFinding(checks.hosts, texts.hosts.none);
  const words = texts.hosts.running(address);
  return isPending
    ? warningFinding(checks.hosts, `${words}; ${texts.beside.sqlite}`, texts.hosts.stopMend)
    : okFinding(checks.hosts, words);
}

function spaceFinding(file: string, isPending: boolean): DoctorFinding {
  const { bavail, bsize } = statfsSync(file);
  const [free, size] = [bavail * bsize, statSync(file).size];
  const words = texts.space.store(
    Math.floor(free / bytesPerMegabyte),
    Math.ceil(size / bytesPerMegabyte),
  );
  const isEnough = free >= spareBytes + (isPending ? size : 0);
  return isEnough
    ? okFinding(doctorStrings.checks.space, words)
    : errorFinding(doctorStrings.checks.space, words, texts.space.mend);
}

async function backupFinding(
  home: string,
  now: number,
  isPending: boolean,
): Promise<DoctorFinding> {
  const what = doctorStrings.checks.backup;
  const verified = (await listBackups(home)).find(({ verifiedAt }) => verifiedAt !== null);
  const time = verified === undefined ? null : formatTime(verified.createdAt);
  if (verified !== undefined && time !== null && now - verified.createdAt < recentBackupMs)
    return okFinding(what, texts.backup.recent(time));
  const finding = isPending ? errorFinding : warningFinding;
  return finding(what, texts.backup.old(time), texts.backup.mend);
}

/** Variables that are no settings: keys of providers, and what the program sets for itself. */
const otherVariables = /^HOLDFAST_(?:\w+_API_KEY|MEMORY_LIMITED|TEST_\w+)$/;

/** A setting that was renamed or removed has no effect, and nothing else says so. */
export function checkVariables(
  environment: Readonly<Record<string, string | undefined>>,
): readonly DoctorFinding[] {
  const known = settingNames.map(variableOf);
  const unknown = Object.keys(environment)
    .filter((name) => name.startsWith("HOLDFAST_") && !otherVariables.test(name))
    .filter((name) => !known.includes(name));
  if (unknown.length === 0) return [okFinding(checks.variables, texts.variables.known)];
  return unknown.map((name) => {
    const words = texts.variables.unknown(
      name,
      similarNames(
        name,
        known.map((each) => each.toLowerCase()),
      ).map((each) => each.toUpperCase()),
    );
    return warningFinding(checks.variables, words, texts.variables.unknownMend);
  });
}

function nextFinding(
  findings: readonly DoctorFinding[],
  schema: SchemaState | null,
): DoctorFinding {
  if (findings.some(({ state }) => state === "bad")) return okFinding(checks.next, texts.next.fix);
  if (schema === null) return okFinding(checks.next, texts.next.create);
  const words = schema.pending.length > 0 ? texts.next.start : texts.next.restart;
  return okFinding(checks.next, `${words}. ${texts.next.doctorAfter}`);
}
