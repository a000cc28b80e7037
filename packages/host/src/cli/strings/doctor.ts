import { formatNumber, plural } from "@holdfast/protocol";

const allOf = new Intl.ListFormat("en", { type: "conjunction" });

const tools = (count: number): string => plural(count, { one: "# tool", other: "# tools" });
const turns = (count: number): string =>
  plural(count, {
    one: "# turn is not saved to memory yet",
    other: "# turns are not saved to memory yet",
  });

/** Every text of `holdfast doctor`. A translation replaces this table; the names of the checks stay, scripts read them. */
export const doctorStrings = {
  about:
    "Checks everything that Holdfast needs, and says how to fix what is wrong: Node, SQLite, the disk, the home and its permissions, the settings, the port, the token, the store, the model and its provider (nothing is sent to it), memory, MCP servers, the sandbox, the clock, open files. Exit codes: 0 if all is well, 1 if something is wrong.",
  flags: {
    json: "print the findings as JSON",
    escape: "try twenty ways out of the sandbox, and say what held",
  },
  examples: {
    doctor: "before the first start, and whenever something seems odd",
    json: "for scripts that watch many hosts",
    escape: "check that the sandbox holds on this machine",
  },
  /** The names of the checks. */
  checks: {
    audit: "Audit",
    backup: "Backup",
    clock: "Clock",
    compaction: "Compaction",
    disk: "Disk sync",
    escaped: "ESCAPED",
    files: "File system",
    held: "held",
    home: "Home",
    host: "Host",
    localModels: "Local models",
    mcp: "MCP",
    mcpServer: (name: string) => `MCP ${name}`,
    memory: "Memory",
    mode: "Mode",
    model: "Model",
    node: "Node",
    notTried: "not tried",
    objectStorage: "Objects",
    openFiles: "Open files",
    port: "Port",
    postgres: "PostgreSQL",
    provider: "Provider",
    rights: "Rights",
    sandbox: "Sandbox",
    secrets: "Secrets",
    settings: "Settings",
    saved: "Saved files",
    space: "Free space",
    spend: "Spend limit",
    spills: "Spills",
    worktrees: "Worktrees",
    sqlite: "SQLite",
    store: "Store",
    token: "Token",
  },
  settings: {
    ok: "all of them are valid",
    mend: "holdfast config schema shows what config.json can contain.",
  },
  backup: {
    newest: (time: string) => `The newest verified backup is from ${time}.`,
    young: "There is no backup yet.",
    none: "There is no verified backup.",
    old: (time: string) => `The newest verified backup is from ${time}, more than two weeks ago.`,
    mend: "Make one with holdfast backup, and keep a copy of it and of secrets.key on another disk. Schedule it, for example with cron.",
  },
  saved: {
    size: (megabytes: number, most: number) =>
      `${formatNumber(megabytes)} of ${formatNumber(most)} MB used to undo changes to files`,
    removed: (size: string, upTo: string, at: string) =>
      `${size}; versions from before ${upTo} were removed on ${at} to make room, so those changes can no longer be undone`,
    mend: "To keep more: holdfast config set snapshotSize <megabytes>",
  },
  machine: {
    nodeTooOld: (version: string) => `${version} is too old`,
    installNode: (version: number) => `Install Node ${version} or newer.`,
    installSqlite: "Install a newer Node; SQLite comes with it.",
    filesOk: "locks, shared memory and syncs work between processes",
    filesMend: "Move the home to a local disk that can be written: HOLDFAST_HOME=<folder>",
    space: (megabytes: number, home: string) => `${formatNumber(megabytes)} MB free at ${home}`,
    spaceCritical: "Free some space, or move the home.",
    spaceLow: "Free some space before it runs out.",
    sync: (ms: number, home: string) => `a sync takes ${ms.toFixed(2)} ms at ${home}`,
    syncSlow: "Every message waits for it. Move the home to a faster disk.",
    openFilesUnknown: "the system does not report its limit",
    openFiles: (limit: number) =>
      limit === Infinity ? "no limit" : `up to ${formatNumber(limit)}`,
    openFilesLow: (limit: number) => `only ${formatNumber(limit)} at once; each open tab uses one`,
    raiseOpenFiles: (limit: number) =>
      `Run ulimit -n ${limit}, or set LimitNOFILE= in the service's unit.`,
    portOurs: (address: string) => `a host of this home serves at ${address}`,
    portAny: "any free one",
    portFree: (address: string) => `${address} is free`,
    portTaken: (address: string) => `${address} is taken by another program`,
    portUnusable: (address: string, code: string) => `${address} cannot be used (${code})`,
    portMend: "Choose another with HOLDFAST_HOST and HOLDFAST_PORT.",
  },
  home: {
    mend: "Choose another home: HOLDFAST_HOME=<folder>",
    private: (path: string) => `only you can read ${path}`,
    open: (path: string, mode: string) => `${path} is open to others (${mode})`,
    chmod: (path: string, mode: string) => `chmod ${mode} ${path}`,
    secretsInConfig: (path: string, names: readonly string[]) =>
      `${path} contains ${allOf.format(names)}, and others can read it`,
    moveSecret: (path: string, name: string) =>
      `Run chmod 600 ${path}, or holdfast config set ${name} …, which stores it in a file of its own.`,
    tokenShort: (length: number) =>
      plural(length, {
        one: "the token has # character",
        other: "the token has # characters",
      }),
    tokenShortAndOpen: (words: string, host: string) =>
      `${words}, and other machines can reach ${host}`,
    tokenMend: "Unset HOLDFAST_TOKEN. Holdfast then makes a token and keeps it in the home.",
    tokenSet: "set",
    tokenLater: "made at the first start",
    tokenEmpty: (path: string) => `${path} is empty`,
    removeToken: (path: string) => `Run rm ${path}; the next start makes a new one.`,
    tokenKept: (path: string) => `kept in ${path}`,
    auditKey: (id: string) => `this host signs with the key ${id}`,
    auditBroken: (path: string) => `${path} is not a key`,
    auditMend: (path: string) =>
      `Move ${path} away; Holdfast then makes a new key. Earlier signatures stay valid.`,
    noSpills: "no unsaved output is left over",
    spills: (count: number, folder: string) =>
      plural(count, {
        one: `# file of unsaved output in ${folder}`,
        other: `# files of unsaved output in ${folder}`,
      }),
    spillsMend: "Start a host on this home; it imports them. Do not delete them.",
  },
  objectStorage: {
    configMend: "Set them all, or none: a host with only some of them does not start.",
    ok: (location: string) => `${location}: one object written, read, listed and deleted`,
  },
  postgres: {
    ok: (version: string) => `${version}, reachable`,
    tooOld: (version: string) => `${version} is too old`,
    upgrade: (version: number) => `Use PostgreSQL ${version} or newer.`,
    encoding: (encoding: string) => `the database is encoded in ${encoding}`,
    makeUtf8: "Create a database with ENCODING 'UTF8'.",
    away: (reason: string) => `it cannot be reached: ${reason}`,
    awayMend: "Check the address in HOLDFAST_STORE, the server, and its pg_hba.conf.",
    pooled:
      "a pooler shares its connections between transactions, so hosts would miss notifications",
    pooledMend: "Set HOLDFAST_STORE_LISTEN_URL to the address of the server behind the pooler.",
    whoseClock: "the database's clock",
  },
  clock: {
    agrees: (whose: string) => `${whose} and this machine's agree`,
    ahead: (whose: string, seconds: string) => `${whose} is ${seconds} s ahead of this machine's`,
    behind: (whose: string, seconds: string) => `${whose} is ${seconds} s behind this machine's`,
    useNtp: "Synchronise both with NTP.",
    future: (time: string) => `the newest session is from ${time}, which is in the future`,
    setClock: "Set this machine's clock, with NTP if possible.",
  },
  host: {
    worktree: (branch: string, folder: string) =>
      `no session works in ${folder} (branch ${branch}) any more`,
    worktreeMend: (id: string) => `Merge what you need, then run holdfast worktrees remove ${id}.`,
    fixFirst: "Fix what is listed above, and check again.",
    fsck: "holdfast fsck shows more.",
    lost: (sessions: number, at: string) =>
      `the database has lost confirmed events of ${sessions} ${sessions === 1 ? "conversation" : "conversations"} (noticed ${at})`,
    lostMend:
      "Each of them has a notice. Make the replica synchronous (synchronous_standby_names), or accept that a failover may lose the last moments.",
    compactions: "none in progress",
    compaction: (
      session: string,
      by: { agent: string; thread: number; pid: number; host: string; nonce: string },
      until: string,
    ) =>
      `${session} by ${by.agent} in thread ${by.thread} of process ${by.pid} on ${by.host} (${by.nonce}), held until ${until}`,
    storeEmpty: "opens, and is empty",
    storeOk: "opens",
    modelsMend: "holdfast config shows the settings.",
    rehearsal: "no provider is set up, so the built-in rehearsal model answers",
    rehearsalMend:
      "Paste a key on the page, under Settings, Models and keys, or set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or HOLDFAST_MODEL=ollama/…",
    modelUnusable: (model: string) => `${model} cannot answer`,
    modelMend: (home: string) => `Check the setting model: holdfast config get model (${home})`,
    noKey: "no key",
    key: (name: string) => `a key (${name})`,
    storedKey: "stored",
    model: (model: string, key: string) => `${model}, with ${key}`,
    localModels: (first: string, others: number) =>
      `${first}${others === 0 ? "" : ` and ${formatNumber(others)} more`}. To use it, set HOLDFAST_MODEL=${first}`,
    priceMend: 'Set its price, for example "models": {"…": {"price": {"input": 1, "output": 4}}}.',
    providerOk: (title: string, host: string) => `${title} can be reached at ${host}`,
    providerAway: (title: string, host: string, failure: string) =>
      `${title} cannot be reached at ${host} (${failure})`,
    providerMend: "Check the network, the address, and that the server runs.",
    noAnswer: "no answer",
    memoryOk: "everything is saved",
    memoryTurns: turns,
    memoryFailing: (count: number, message: string) =>
      `${turns(count)}; the last attempt failed: ${message}`,
    memoryFailingMend: "Check the setting memory: holdfast config get memory",
    memoryStale: (count: number) => `${turns(count)}, some for more than an hour`,
    memoryStaleMend: "Start a host; it saves them when their sessions are idle.",
  },
  mcp: {
    mend: "The host's log shows more.",
    seeAbove: "See above.",
    hidden:
      "config.json has a server with the name of an added one; the one in config.json is used",
    hiddenMend: (name: string) =>
      `Rename it in config.json, or run: holdfast mcp-servers remove ${name}`,
    off: "switched off",
    needsSignIn: "needs you to sign in",
    signIn: (name: string) =>
      `Run holdfast mcp-servers sign-in ${name}, or choose Sign in on the page (Settings, MCP servers).`,
    noAnswer: "it did not answer in time",
    ready: (count: number) => `reachable, ${tools(count)}`,
    readyPartly: (count: number, unusable: number) =>
      `reachable, ${tools(count)}; ${formatNumber(unusable)} cannot be used`,
    unusableMend: "GET /api/mcp shows which ones, and why.",
    stopped: "not connected here",
    stoppedMend: "Run doctor against the process that has the role runner.",
    away: (reason: string) => `not reachable: ${reason}`,
    awayMend: "Check its command or url, its keys, and that it runs.",
  },
  secrets: {
    lockedMend: "Put the key there, and start again.",
    unreadable: (names: readonly string[]) => `this key does not open ${allOf.format(names)}`,
    unreadableMend:
      "Add the key that does to HOLDFAST_SECRETS_KEY or secrets.key, or store the secrets again.",
    stored: (count: number) => `${formatNumber(count)} stored, encrypted`,
    storeMend: "See the store check above.",
  },
  sandbox: {
    confined: (kind: string, mode: string) =>
      `commands and MCP servers are confined (${kind}), ${mode}`,
    memoryPerCommand: "; memory is limited for each command",
    memoryPerProcess: "; memory is limited for each process",
    mend: "docs/security.md says what a sandbox needs.",
    off: "off: commands can do everything that your user can",
    none: (reason: string) => `no sandbox works here: ${reason}`,
    unknownReason: "the reason is unknown",
    nothingRuns: (words: string) => `${words}; no command will run`,
    unconfined: (words: string) => `${words}; commands run unconfined`,
    processes: "the number of processes is not limited, because this host runs as root",
    processesMend: "Run it as another user, or on Linux 6.14 or newer.",
    mode: (mode: string, help: string) => `new sessions begin in ${mode} mode. ${help}`,
    fullUnconfined:
      "new sessions begin in full mode, but nothing confines commands, so they still ask",
    fullUnconfinedMend: "Set sessionMode to ask or edits, or make a sandbox work.",
    exemptRequired: "it is exempt from the sandbox, although that is required",
    exempt: "it is exempt from the sandbox",
    exemptMend: (name: string) => `Remove mcp.${name}.sandbox.`,
    network: "confined, but it can use the host's whole network",
    networkMend: (name: string) =>
      `Set mcp.${name}.sandbox.network to "none", or to a list of host names.`,
    nothingTried: (words: string) => `no escape was attempted: ${words}`,
    total: (held: number, count: number, kind: string) => `${held} of ${count} held (${kind})`,
    held: (id: string, what: string) => `${id}: a command cannot ${what}`,
    untried: (id: string, what: string) => `${id}: a command could not try to ${what}`,
    escaped: (id: string, what: string) => `${id}: a command can ${what}`,
    escapeMend:
      "Set sandbox to required only where all of them hold, and report this: see SECURITY.md.",
  },
} as const;
