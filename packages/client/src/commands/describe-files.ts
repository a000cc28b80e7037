import {
  type FilesRestored,
  type KeptReason,
  type LastingEffect,
  plural,
  type UnsavedReason,
} from "@holdfast/protocol";

export type RestoreCause = "undo" | "redo" | "switch";

const begins = {
  undo: {
    none: "No files were restored",
    one: "# file was restored",
    other: "# files were restored",
  },
  redo: {
    none: "No files were changed again",
    one: "The undo of files was reverted: # file was changed again",
    other: "The undo of files was reverted: # files were changed again",
  },
  switch: {
    none: "No files had to change for this version",
    one: "# file was set to this version",
    other: "# files were set to this version",
  },
} as const;

const keptReasons: Readonly<Record<KeptReason, string>> = {
  changed: "changed since then",
  lost: "no longer saved here",
  failed: "could not be read or written",
};

const effectKinds: Readonly<Record<LastingEffect["kind"], (text: string, tool: string) => string>> =
  {
    network: (text) => `ran ${text}`,
    background: (text) => `started in the background: ${text}`,
    sent: (text) => `sent ${text}`,
    remembered: (text) => `remembered: ${text}`,
    delegated: (text) => `delegated: ${text}`,
    tool: (text, tool) => (text === "" ? tool : `${tool}: ${text}`),
  };

const missingReasons: Readonly<Record<UnsavedReason, string>> = {
  no_git: "git is not installed, so changes made by commands were not saved",
  too_many: "a command changed too many files to save",
  failed: "the files could not be saved before a command ran",
  too_large: "a file was too large to save",
  link: "a link was changed",
  repository: "a repository inside the folder was not saved",
  changing: "a file kept changing while it was being saved",
  unreadable: "a file could not be read",
  elsewhere: "some files were saved on another machine, for another folder, or are no longer saved",
  interrupted: "a command was interrupted, so it is unclear what it changed",
};

const mostNames = 10;
const mostEffects = 5;

/** What was done with the files, what was left and why, and what no undo takes back. */
export function describeRestored(cause: RestoreCause, files: FilesRestored): string {
  const { restored, count, kept, missing = [] } = files;
  const beginning = count === 0 ? begins[cause].none : plural(count, begins[cause]);
  const names = count === 0 ? "" : `: ${listOf(restored, mostNames, count, ", ")}`;
  const left = kept.map(({ path, reason }) => `${path} (${keptReasons[reason]})`);
  const effects = (files.effects ?? []).map(describeEffect);
  const reasons = [...new Set(missing)].map((reason) => missingReasons[reason]);
  return [
    `${beginning}${names}.`,
    ...(left.length === 0 ? [] : [`Left as they are: ${listOf(left, mostNames)}.`]),
    ...(reasons.length === 0 ? [] : [`Not everything is known: ${listOf(reasons, mostNames)}.`]),
    ...(effects.length === 0 ? [] : [`Cannot be undone: ${listOf(effects, mostEffects)}.`]),
  ].join(" ");
}

/** `ran git push (git.example.org)` */
export function describeEffect({ kind, tool, text }: LastingEffect): string {
  return effectKinds[kind](text, tool);
}

function listOf(
  items: readonly string[],
  most: number,
  count = items.length,
  separator = "; ",
): string {
  const shown = items.slice(0, most);
  const more = count > shown.length ? ` and ${count - shown.length} more` : "";
  return shown.join(separator) + more;
}
