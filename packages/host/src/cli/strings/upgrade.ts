import { formatNumber, plural } from "@holdfast/protocol";

const allOf = new Intl.ListFormat("en", { type: "conjunction" });

interface Migration {
  readonly number: number;
  readonly name: string;
}

/** Every text of `holdfast upgrade-check`. A translation replaces this table; the names of the checks stay, scripts read them. */
export const upgradeStrings = {
  about:
    "Checks, before this version is started on an existing store, what the upgrade would do and what is missing: the store's schema and the migrations that would run, which hosts can keep running beside them, hosts that run now, free space, a recent backup, settings that this version does not know, and Node. Changes nothing. Run it with the new version. Exit codes: 0 if nothing stands in the way, 1 otherwise.",
  flags: { json: "print the findings as JSON" },
  examples: {
    check: "before the new version is started for the first time",
    json: "for scripts that upgrade hosts",
    postgres: "a store that other hosts use, too",
  },
  checks: {
    schema: "Schema",
    beside: "Side by side",
    hosts: "Hosts",
    locks: "Locks",
    home: "Home",
    store: "Store",
    variables: "Variables",
    next: "Next",
  },
  schema: {
    empty: "there is no store yet: nothing to upgrade",
    same: (current: number) => `schema ${current}, as this version uses it`,
    pending: (current: number, newest: number, migrations: readonly Migration[]) =>
      `schema ${current}; the first start of this version brings it to ${newest}: ${allOf.format(
        migrations.map(({ number, name }) => `${number} (${name.replaceAll("-", " ")})`),
      )}`,
    newer: (current: number, newest: number) =>
      `schema ${current} is newer than this version, which knows ${newest}, but says that it can be used`,
    tooNew: (current: number, needed: number, newest: number) =>
      `schema ${current} needs a version that knows schema ${needed}; this one knows ${newest}`,
    tooNewMend: "Use the version that last opened the store, or a newer one.",
    unreadable: (reason: string) => `the store cannot be read: ${reason}`,
    unreadableMend: "Fix that first, and check again.",
    newerMend: "This version works, and lacks what the newer one added.",
  },
  beside: {
    postgres: (oldest: number) =>
      `hosts that know schema ${oldest} can keep running during the migrations and afterwards`,
    stopAll: (number: number, name: string) =>
      `no older host can run beside migration ${number} (${name.replaceAll("-", " ")})`,
    stopAllMend: "Stop all hosts before you start the first one of this version.",
    olderThanSchema: (oldest: number, current: number) =>
      `hosts need to know schema ${oldest}, and the store has ${current}`,
    sqlite: "on SQLite, the host of the older version has to be stopped first",
  },
  hosts: {
    none: "no host runs on this home",
    running: (address: string) => `one serves this home at ${address}`,
    stopMend: "Stop it before you start the new version.",
    connected: (count: number, addresses: readonly string[]) =>
      `${plural(count, { one: "# host is connected", other: "# hosts are connected" })}: ${allOf.format(addresses)}`,
    noneConnected: "no host is connected to the database",
    local: "this machine",
    replaceOne: "Replace them one at a time.",
    stopAll: "Stop them all first.",
  },
  locks: {
    free: "no long transaction is in the way",
    held: (pid: number, seconds: number) =>
      `a transaction of server process ${pid} has run for ${formatNumber(seconds)} s; a migration waits for its tables, half a minute at most`,
    mend: (pid: number) => `Wait for it, or end it with SELECT pg_terminate_backend(${pid}).`,
  },
  home: {
    missing: (path: string) => `${path} does not exist: nothing to upgrade`,
  },
  space: {
    store: (freeMegabytes: number, storeMegabytes: number) =>
      `${formatNumber(freeMegabytes)} MB free; the store takes up ${formatNumber(storeMegabytes)} MB`,
    mend: "A migration may need as much space again, for its write-ahead log. Free some space.",
  },
  backup: {
    recent: (time: string) => `the newest verified backup is from ${time}`,
    old: (time: string | null) =>
      time === null
        ? "there is no verified backup"
        : `the newest verified backup is from ${time}, more than a day ago`,
    mend: "Run holdfast backup with the version that runs now. Migrations only go forward: a backup is the way back.",
    postgres: "backups of PostgreSQL cannot be seen from here",
    postgresMend: "Make one now, for example with pg_dump -Fc. Migrations only go forward.",
  },
  variables: {
    known: "this version knows every HOLDFAST_ variable that is set",
    unknown: (name: string, similar: readonly string[]) =>
      `${name} is not a setting of this version${similar.length === 0 ? "" : `; did you mean ${similar.join(" or ")}?`}`,
    unknownMend: "Remove or rename it: it has no effect. holdfast config table lists all settings.",
    settingsMend:
      "Remove or correct it in the file or the environment; the new version would not start. holdfast config table lists all settings.",
  },
  next: {
    fix: "fix what is marked with ✗, and run this again",
    start: "start this version; its first start migrates the store",
    restart: "nothing to migrate: restart the hosts with this version",
    create: "start this version; it creates the store",
    doctorAfter: "Afterwards: holdfast doctor, and holdfast fsck.",
  },
};
