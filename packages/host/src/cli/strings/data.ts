import { formatNumber, plural } from "@holdfast/protocol";

const sessionsOf = (count: number): string =>
  plural(count, { one: "# session", other: "# sessions" });
const eventsOf = (count: number): string => plural(count, { one: "# event", other: "# events" });
const findingsOf = (count: number): string =>
  plural(count, { one: "# finding", other: "# findings" });

/** Every text of `holdfast export`, `import`, `backup`, `restore`, `verify` and `fsck`. A translation replaces these tables. */
export const transferStrings = {
  export: {
    about:
      "Writes a session as a document: Markdown, a self-contained page, JSON that another Holdfast can import, or its signed log for holdfast verify.",
    flags: {
      format: "md, html, json or audit (md)",
      versions: "all versions of edited and retried messages, or only those shown (all)",
      to: "write to this file; an existing file is never overwritten",
      all: "everything instead of one session: jsonl (to import elsewhere), or md or html (a zip of documents)",
    },
    examples: {
      all: "everything: sessions, files, settings, memory and skills",
      pages: "all sessions as pages to read offline",
      markdown: "a session, by words of its title",
      json: "to import it elsewhere",
      audit: "a signed log that anyone can check",
    },
    badFormat: "--format must be md, html, json or audit.",
    badVersions: "--versions must be all or shown.",
    sessionMissing: "Name a session; holdfast sessions list shows them.",
    notOne: (query: string) =>
      `No session, or more than one, matches "${query}". holdfast sessions list shows them.`,
    exists: (path: string) =>
      `${path} exists already, and is never overwritten. Name another file with --to.`,
    notWritten: (path: string, code: string) =>
      `${path} cannot be written (${code}). No partial file was kept.`,
    badAllFormat: "With --all, --format must be jsonl, markdown or html.",
    fileMissing: "Name the file: holdfast export --all everything.jsonl",
    progress: (bytes: number) => `${formatNumber(Math.round(bytes / 1e6))} MB …`,
    allWritten: (path: string, bytes: number) => `${path}  (${formatNumber(bytes)} bytes)`,
    checkHint: (path: string) =>
      `To check it: holdfast verify ${path}. It contains conversations word for word, but no stored secrets, keys, sign-ins or workspaces.`,
    cut: "The export was cut short and removed. Try again.",
  },
  importAll: {
    notThroughUrl:
      "A full export is imported by the machine that keeps the store. Run the command there, without --url.",
    hostRuns: (address: string) =>
      `A host serves this home at ${address}. Stop it first: nothing else may use the store during the import.`,
    busy: "Another import into this home is running. Wait for it to end.",
    otherUnfinished: (sha256: string) =>
      `The import of another file has not finished here (SHA-256 of its lines: ${sha256}). Import that file again to finish it.`,
    fault: (file: string, line: number, code: string, message: string) =>
      `${file}, line ${formatNumber(line)}: ${message} (${code}) A damaged file is not imported. Make a new export, or use another copy of the file.`,
    stopped: (code: string, message: string) =>
      `The import stopped: ${message} (${code}) Run the same command to continue.`,
    progress: {
      checking: (sessions: number, events: number) =>
        `Checking the file: ${sessionsOf(sessions)}, ${eventsOf(events)} …`,
      copying: (sessions: number, events: number) =>
        `Copying: ${sessionsOf(sessions)}, ${eventsOf(events)} …`,
      proving: (sessions: number, events: number) =>
        `Checking the store: ${sessionsOf(sessions)}, ${eventsOf(events)} …`,
    },
    sessions: (taken: number, known: number, events: number, blobs: number) =>
      `${sessionsOf(taken)} imported with ${eventsOf(events)} and ${formatNumber(blobs)} attachments; ${formatNumber(known)} were here already.`,
    settings: (taken: number, known: number) =>
      `${formatNumber(taken)} settings, facts, schedules and files imported; ${formatNumber(known)} were here already.`,
    copied: (from: string, to: string) =>
      `${from} exists here as a different session, so it was imported as ${to}.`,
    deleted: (count: number) =>
      `${sessionsOf(count)} left out, because they were deleted for good here.`,
    kept: (count: number, names: string) =>
      `${formatNumber(count)} differ here and were left as they are: ${names}`,
    damaged: (session: string, seq: number) =>
      `Event ${seq} of ${session} could not be read when the file was written, and is missing here.`,
    leftOut: (names: string) =>
      `Keys, sign-ins and secrets are never imported from a file. Left out: ${names}`,
    refused: (session: string, seq: number, message: string) =>
      `${session} ends before event ${formatNumber(seq)}, which cannot stand here: ${message} No host writes such a file; check where it is from: holdfast verify <file> --key <key>`,
    clean: "Every log was checked after the import. No problems were found.",
    notClean: "The check after the import found problems. To see them: holdfast fsck",
  },
  import: {
    about:
      "Imports a session that was exported as JSON, a full export (holdfast export --all), everything in a hermes home (sessions, projects, personas, memory, skills, schedules and MCP servers), a ChatGPT or Claude data export (zipped or unpacked), or the sessions of Claude Code or Codex. If you import again, nothing is duplicated and only what is new is added. The other program's files are never changed.",
    flags: {
      dryRun: "show what would be imported, and write nothing",
      only: "only these, separated by commas: sessions, projects, personas, memory, skills, schedules, mcp, secrets",
      profile: "hermes: only this profile; default is the home itself",
      secrets: "hermes: import keys, too; they are stored encrypted",
      all: "report: also what was imported without remarks",
      json: "report: each item as a line of JSON",
    },
    examples: {
      file: "the conversation keeps its dates",
      everything: "everything of another host, exactly as it was there; the host must be stopped",
      dryRun: "show what would be imported",
      hermes: "import it; hermes can keep running",
      chatgpt: "an export as it was downloaded",
      claudeCode: "the sessions in ~/.claude/projects",
      report: "the result of the last import",
    },
    fileMissing: "Name the file: holdfast import garden.json",
    badKind: (kind: string, kinds: string) =>
      `--only takes ${kinds}, separated by commas; "${kind}" is not one of them.`,
    homeMissing: (source: string, paths: string) =>
      `There is no ${source} data at ${paths}. Give its path: holdfast import ${source} <path>`,
    exportMissing: (source: string) =>
      `Give the export, zipped or unpacked: holdfast import ${source} <path>`,
    progress: (sessions: number, messages: number) =>
      `${formatNumber(sessions)} sessions, ${formatNumber(messages)} messages …`,
    progressOf: (sessions: number, expected: number, messages: number) =>
      `${formatNumber(sessions)} of ${formatNumber(expected)} sessions, ${formatNumber(messages)} messages …`,
    items: (name: string, outcomes: string) => `${name}: ${outcomes}`,
    outcome: (count: number, outcome: string) => `${formatNumber(count)} ${outcome}`,
    kinds: {
      session: "Sessions",
      project: "Projects",
      persona: "Personas",
      fact: "Facts",
      skill: "Skills (off)",
      schedule: "Schedules (off)",
      mcp_server: "MCP servers (off)",
      secret: "Secrets",
    } as Readonly<Record<string, string>>,
    messages: (role: string, before: number, after: number) =>
      `  ${role}: ${formatNumber(before)} there, ${formatNumber(after)} here`,
    messagesHeading: "Messages",
    proven: (texts: number) =>
      `Proven by hash: all ${formatNumber(texts)} texts are identical here and there.`,
    differing: (count: number, texts: number) =>
      `${formatNumber(count)} of ${formatNumber(texts)} texts differ here and there; see the report.`,
    findings: (outcomes: string) => `Remarks: ${outcomes}. holdfast import report lists them.`,
    dry: "This was a dry run: nothing was written.",
    report: (path: string) => `Report: ${path}`,
    stopped: (reason: string) =>
      `The import ended early: ${reason} What was imported is kept. Run the same command to continue.`,
    noReport:
      "There has been no import yet. To see what one would do: holdfast import hermes --dry-run",
    reportHead: (source: string, path: string, time: string) => `${source}, ${path}, ${time}`,
    notExported: (file: string | undefined) =>
      `${file ?? "The input"} is not a session that was exported as JSON. To make one: holdfast export <session> --format json`,
    ofAnother: (path: string, sources: readonly string[]) =>
      `${path} belongs to another program. To import it: ${sources
        .map((source) => `holdfast import ${source} ${path}`)
        .join(" or ")}`,
    unreadable: (path: string, code: string) => `${path} cannot be read (${code}).`,
    imported: (id: string) => `Imported: ${id}`,
    skipped: (id: string, reason: string) => `Left out: ${id} (${reason})`,
  },
  backup: {
    about:
      "Copies a snapshot of the store, and memory, skills, agents and settings, to a new folder in backups in the home while hosts run. Then restores the copy into a scratch home and checks it there. Secrets, their key, the token and workspaces are left out. On PostgreSQL use pg_dump, or holdfast export --all.",
    examples: { backup: "print the folder" },
    written: (folder: string, bytes: number) => `${folder}  (${formatNumber(bytes)} bytes)`,
    verified: (sessions: number, events: number) =>
      `Restored into a scratch home and checked there: ${sessionsOf(sessions)}, ${eventsOf(events)}, no problems.`,
    notIncluded:
      "Not included: secrets.key (keep a copy elsewhere), the token, workspaces, saved file versions, and what is in object storage.",
    progress: {
      copying: () => "Copying the store …",
      checking: (sessions: number, events: number) =>
        `Checking the copy: ${sessionsOf(sessions)}, ${eventsOf(events)} …`,
    },
  },
  restore: {
    about:
      "Copies a backup into an empty home. Nothing is ever overwritten: with --replace, existing data is moved to a folder in the home first. The host must be stopped.",
    flags: { replace: "move existing data to replaced-… in the home first" },
    hostRuns: (address: string) => `A host serves this home at ${address}. Stop it first.`,
    unverified: "This backup was never checked. Run holdfast fsck after it is restored.",
    next: "Put secrets.key into the home to use the stored keys, then: holdfast serve",
    examples: { restore: "then: holdfast chat --home ~/other" },
    folderMissing: "Name the folder of a backup: holdfast restore ~/.holdfast/backups/2026-…",
    notThere: (folder: string) =>
      `${folder} does not exist. Backups are in the folder backups in the home.`,
    restored: (home: string) => `Restored to ${home}. To check it: holdfast fsck`,
  },
} as const;

export const verifyStrings = {
  about:
    "Checks an audit export or a full export: that no event was changed, removed or inserted, and who signed it. It needs no host and no network. Exit codes: 0 if all is well, 1 if not.",
  flags: {
    key: "the id of the key that must have signed it, as holdfast doctor shows it",
    json: "print the whole result as JSON",
  },
  examples: {
    export: "write the file to check",
    verify: "also require the signature of this host",
  },
  fileMissing: "Name the file: holdfast verify garden.jsonl",
  unreadable: (path: string, code: string) => `${path} cannot be read (${code}).`,
  whole: (sessions: number, events: number, blobs: number) =>
    `${sessionsOf(sessions)}, ${eventsOf(events)} and ${formatNumber(blobs)} attachments, all unchanged.`,
  wholeDamaged: (count: number) =>
    plural(count, {
      one: "# event could not be read when the file was written.",
      other: "# events could not be read when the file was written.",
    }),
  wholeSigned: (key: string, time: string) => `Signed by ${key} on ${time}.`,
  wholeFault: (line: number, code: string, message: string) =>
    `${code}  Line ${formatNumber(line)}: ${message}`,
  intact: (session: string, events: number) => `${session}: ${eventsOf(events)}, all unchanged.`,
  changed: (session: string, events: number) =>
    `${session}: ${eventsOf(events)}, not all as they were written.`,
  unlinked: (count: number) =>
    `${eventsOf(count)} cannot be checked: older versions did not link events.`,
  redacted: (count: number) =>
    plural(count, {
      one: "# event is shown without its secrets; its hash matches.",
      other: "# events are shown without their secrets; their hashes match.",
    }),
  signed: (key: string, seq: number, time: string) =>
    `Signed by ${key} up to event ${seq} on ${time}.`,
} as const;

const blobsOf = (count: number, bytes: number): string =>
  `${plural(count, { one: "# blob", other: "# blobs" })}, ${formatNumber(Math.ceil(bytes / 1e6))} MB`;
const objectsOf = (count: number): string => plural(count, { one: "# object", other: "# objects" });

export const blobsStrings = {
  about:
    "Shows how many pictures, attachments and large texts are in the database and in object storage. move takes those of 64 KiB and more to object storage, or all of them back into the database: hosts can keep running, and after an interruption the same command moves the rest. clean deletes objects below the prefix that this database doesn't know, once they are a day old; no other store may use the prefix.",
  examples: {
    list: "how many there are, and where",
    move: "after you have set blobStorage to objects",
    clean: "after restoring an older database",
  },
  whereTo: "Say where to: holdfast blobs move objects, or holdfast blobs move database.",
  notThroughUrl:
    "Blobs are moved by a machine that reaches the database and the bucket. Run the command there, without --url.",
  notConfigured:
    "No object storage is configured. Set objectStorageUrl, objectStorageBucket, objectStorageKeyId and objectStorageSecretKey.",
  stopped: (message: string) => `${message} Run the same command to continue.`,
  inDatabase: (count: number, bytes: number) => `in the database     ${blobsOf(count, bytes)}`,
  inObjects: (count: number, bytes: number) => `in object storage   ${blobsOf(count, bytes)}`,
  pending: (count: number) => `to be deleted, or being written: ${objectsOf(count)}`,
  progress: (count: number, bytes: number) => `${blobsOf(count, bytes)} moved …`,
  moved: (count: number, bytes: number) => `${blobsOf(count, bytes)} moved`,
  unreadable: (id: string, message: string, advice: string) =>
    `${id} stays where it is: ${message} ${advice}`,
  cleaned: (garbage: number, unknown: number, seen: number) =>
    `${objectsOf(garbage)} deleted that nothing refers to any more, and ${formatNumber(unknown)} of ${formatNumber(seen)} that this database doesn't know`,
};

export const fsckStrings = {
  about:
    "Checks that every log is complete and that everything derived follows from the logs. It only reads, and may run while a host works. Exit codes: 0 clean, 1 repaired, 2 damaged, 3 could not finish.",
  flags: {
    rebuild: "rebuild what differs from its log",
    json: "print the whole result as JSON",
  },
  examples: {
    check: "check everything and change nothing",
    rebuild: "repair what can be derived from the logs, and check it",
  },
  progress: (sessions: number, events: number) => `${sessionsOf(sessions)}, ${eventsOf(events)} …`,
  more: (count: number) => `… and ${formatNumber(count)} more`,
  unproven: (item: string) =>
    `Not checked, because it was being written or could not be reached: ${item}`,
  spills: (count: number) =>
    plural(count, {
      one: "# file of unsaved output is left over; a host imports it when it runs.",
      other: "# files of unsaved output are left over; a host imports them when it runs.",
    }),
  clean: (sessions: number, events: number) =>
    `${sessionsOf(sessions)}, ${eventsOf(events)}: clean.`,
  found: (sessions: number, events: number, findings: number, repaired: number) =>
    `${sessionsOf(sessions)}, ${eventsOf(events)}: ${findingsOf(findings)}${
      repaired > 0 ? `, ${formatNumber(repaired)} of them repaired` : ""
    }.`,
  rebuildHint: "To repair what can be derived from the logs: holdfast fsck --rebuild",
} as const;
