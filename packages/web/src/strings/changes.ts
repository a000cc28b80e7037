import {
  type KeptReason,
  type LastingEffect,
  plural,
  type UnsavedReason,
} from "@holdfast/protocol";

const kept: Readonly<Record<KeptReason, string>> = {
  changed: "Stays: somebody else changed it since",
  lost: "Stays: what it was is no longer saved",
  failed: "Stays: it cannot be read or written",
};

const effects: Readonly<Record<LastingEffect["kind"], string>> = {
  network: "Reached the network",
  background: "Started in the background",
  sent: "Sent",
  remembered: "Remembered",
  delegated: "Handed to another agent",
  tool: "Tool",
};

const missing: Readonly<Record<UnsavedReason, string>> = {
  no_git: "git is not installed on the host, so what commands changed is not known.",
  too_many: "A command changed more files than are saved.",
  failed: "The files before a command could not be saved.",
  too_large: "Files of more than 16 MB are not saved.",
  link: "Links are not saved.",
  repository: "Repositories inside the folder are not saved.",
  changing: "A file kept changing while it was saved.",
  unreadable: "A file could not be read.",
  elsewhere:
    "Some files were saved on another machine, for another folder, or are no longer saved.",
  interrupted: "A command was interrupted, so what it left is not known.",
};

/** The texts of the changed files and of their undo. Loaded with these parts of the page. */
export const changesStrings = {
  title: "Changed files",
  reading: "Reading the changes…",
  none: "This turn changed no files.",
  more: (count: number) => plural(count, { one: "# more file", other: "# more files" }),
  counts: (added: number, removed: number) => `${added} added, ${removed} removed`,
  noDiff: "No text, or too large to show.",
  showLines: (count: number) =>
    plural(count, { one: "Show # more line", other: "Show # more lines" }),
  leftOut: "The rest of the diff is left out.",
  lines: (path: string) => `Changed lines of ${path}. Enter comments on the chosen line.`,
  change: { created: "Created", changed: "Changed", deleted: "Deleted" },
  missing,
  comment: {
    file: "Comment on the file",
    onFile: (path: string) => `Comment on ${path}`,
    onLine: (path: string, line: number) => `Comment on ${path}, line ${line}`,
    add: "Add comment",
    lineAbove: "The line above",
    lineBelow: "The line below",
    remove: "Remove comment",
    line: (line: number) => `Line ${line}`,
    whole: "Whole file",
    send: (count: number) => plural(count, { one: "Send # comment", other: "Send # comments" }),
    waiting: "They go into the conversation as one message.",
    lead: "Comments on the changes:",
    place: (path: string, line: number) => `${path}, line ${line}:`,
    before: (path: string, line: number) => `${path}, line ${line} before the change:`,
  },
  undo: {
    title: "Undo the last turn",
    what: "What to undo",
    both: "Conversation and files",
    files: "Only the files",
    filesHint: "The conversation stays as it is.",
    conversation: "Only the conversation",
    conversationHint: "The files stay as they are.",
    confirm: "Undo",
    nothing: "This turn changed no files, so only the conversation can be undone.",
    filesTitle: (count: number) => plural(count, { one: "# file", other: "# files" }),
    plan: { restore: "Put back", none: "Already as before", ...kept },
    becomes: { created: "Deleted again", changed: "Put back", deleted: "Made again" },
    effectsTitle: "Cannot be taken back",
    effects,
  },
} as const;
