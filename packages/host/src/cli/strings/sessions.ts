import { plural } from "@holdfast/protocol";

const anyOf = new Intl.ListFormat("en", { type: "disjunction" });

/** Every text of `holdfast sessions`. A translation replaces this table. */
export const sessionsStrings = {
  about:
    "Lists, reads and changes sessions. Name a session by its id, the end of its id, or words of its title.",
  flags: {
    limit: "how many sessions or entries to show (20)",
    archived: "archived sessions",
    trash: "sessions in the trash",
    yes: "delete for good without asking again",
  },
  examples: {
    list: "the newest first",
    show: "a conversation, by the end of its id",
    search: "every place where this word was said",
    delete: "move it to the trash; restore brings it back",
    purge: "delete it from the trash, for good",
    stopWaiting:
      "stop waiting for the output of a host, or for a memory provider, that will not come back",
  },
  none: "No sessions yet. To begin one: holdfast chat",
  noneArchived: "No sessions are archived.",
  trashEmpty: "The trash is empty.",
  earlier: "… there is more above; --limit 500 shows it",
  done: {
    delete: "In the trash:",
    restore: "Restored:",
    stopWaiting: "No longer waiting:",
    rename: "Renamed:",
    branch: "Branched:",
    mode: (mode: string) => `Now in ${mode} mode:`,
    purge: "Deleted for good:",
    emptyTrash: (count: number) =>
      `Deleted for good: ${plural(count, { one: "# session", other: "# sessions" })}.`,
  },
  wordsMissing: "sessions search needs words, like holdfast sessions search tomatoes",
  indexing: "There may be more: the host is still indexing. Search again in a moment.",
  noHits: "No matches.",
  renameNeedsBoth:
    "sessions rename needs a session and a title, like holdfast sessions rename k3m9x2 Garden",
  modeNeedsBoth: (modes: readonly string[]) =>
    `sessions mode needs a session and then ${anyOf.format(modes)}.`,
  confirmPurge: (name: string) => `This deletes “${name}” for good. Add --yes to do it.`,
  confirmEmptyTrash: "This deletes everything in the trash for good. Add --yes to do it.",
  nameMissing:
    "Name a session by its id, the end of its id, or words of its title. holdfast sessions list shows them.",
  noMatch: (query: string) => `No session matches "${query}". holdfast sessions list shows them.`,
  noTrashMatch: (query: string) =>
    `No session in the trash matches "${query}". holdfast sessions list --trash shows them.`,
  severalMatch: (query: string) => `Several sessions match "${query}". Name one by its id:`,
} as const;
