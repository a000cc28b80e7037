import {
  type KeptReason,
  type LastingEffect,
  plural,
  type UnsavedReason,
} from "@holdfast/protocol";

const kept: Readonly<Record<KeptReason, string>> = {
  changed: "Kept: it was changed since then",
  lost: "Kept: its earlier version is no longer saved",
  failed: "Kept: it cannot be read or written",
};

const effects: Readonly<Record<LastingEffect["kind"], string>> = {
  network: "Used the network",
  background: "Started in the background",
  sent: "Sent",
  remembered: "Saved to memory",
  delegated: "Delegated",
  tool: "Tool",
};

const missing: Readonly<Record<UnsavedReason, string>> = {
  no_git: "git is not installed on the host, so changes made by commands are unknown.",
  too_many: "A command changed more files than are saved.",
  failed: "The files could not be saved before a command ran.",
  too_large: "Files of more than 16 MB are not saved.",
  link: "Links are not saved.",
  repository: "Repositories inside the folder are not saved.",
  changing: "A file kept changing while it was being saved.",
  unreadable: "A file could not be read.",
  elsewhere:
    "Some files were saved on another machine, for another folder, or are no longer saved.",
  interrupted: "A command was interrupted, so it is unclear what it changed.",
};

/** The texts of the changed files and of their undo. Loaded with these parts of the page. */
export const changesStrings = {
  title: "Changed files",
  reading: "Reading the changes…",
  none: "This turn changed no files.",
  more: (count: number) => plural(count, { one: "# more file", other: "# more files" }),
  counts: (added: number, removed: number) => `${added} added, ${removed} removed`,
  noDiff: "Not text, or too large to show.",
  showLines: (count: number) =>
    plural(count, { one: "Show # more line", other: "Show # more lines" }),
  leftOut: "The rest of the diff is not shown.",
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
    waiting: "All comments are sent as one message.",
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
    plan: { restore: "Restore", none: "Nothing to do", ...kept },
    becomes: { created: "Delete", changed: "Restore", deleted: "Restore" },
    effectsTitle: "Cannot be undone",
    effects,
  },
} as const;
