import { formatNumber, plural } from "@holdfast/protocol";

/** Every text of `holdfast skills`. A translation replaces this table. */
export const skillsStrings = {
  about:
    "A skill is a folder with a SKILL.md: instructions that the model loads when a task needs them. Yours are in ~/.holdfast/skills and ~/.agents/skills. With --session, also those in the session's folder (.holdfast/skills, .agents/skills, .claude/skills); the model gets these only after you have trusted them as they are now.\n\nIn a conversation, /name uses a skill.",
  flags: {
    yes: "install without asking; read the preview first",
    session: "also the skills in this session's folder",
  },
  examples: {
    list: "all skills; those that cannot be used, and why",
    show: "its instructions, its files, and what to check before you trust it",
    install: "show what is in it, ask, and install it",
    off: "sessions no longer have it; on brings it back",
  },
  none: "No skills yet. To install one: holdfast skills install <folder>",
  shadowed: (state: string, by: string) => `${state}, but the one in ${by} is used instead`,
  heading: (path: string, state: string) => `${path} (${state})`,
  file: (path: string, bytes: number) =>
    `${path}\t${plural(bytes, { one: "# byte", other: "# bytes" })}`,
  skipped: (path: string, reason: string) => `${path}: ${reason}`,
  check: (warning: string) => `Check this: ${warning}`,
  switched: {
    on: (name: string) => `Switched on: ${name}`,
    off: (name: string) => `Switched off: ${name}`,
  },
  removed: (name: string) => `Removed: ${name}`,
  sessionMissing:
    "Name a session that works in the folder: --session <id>. holdfast sessions list shows the ids.",
  badSession: (id: string) =>
    `"${id}" is not the id of a session. holdfast sessions list --json shows the ids.`,
  nameMissing: "Name a skill; holdfast skills lists them.",
  unknown: (name: string) => `There is no skill "${name}". holdfast skills lists them.`,
  decided: {
    trusted: (path: string) => `Trusted: ${path}`,
    refused: (path: string) => `Refused: ${path}`,
  },
  install: {
    sourceMissing: "Name a folder, an archive, or the https address of a git repository.",
    preview: (name: string, description: string) => `${name}: ${description}`,
    size: (characters: number, files: number, bytes: number) =>
      `  ${formatNumber(characters)} characters of instructions, ${plural(files, { one: "# file", other: "# files" })}, ${formatNumber(bytes)} bytes`,
    file: (path: string, bytes: number) => `  ${path}\t${formatNumber(bytes)}`,
    moreFiles: (count: number) => `  and ${formatNumber(count)} more`,
    replaces: (name: string, count: number) =>
      count === 0
        ? `  It replaces the installed ${name}, which has the same files.`
        : `  It replaces the installed ${name}. ${plural(count, { one: "# file is", other: "# files are" })} different:`,
    change: {
      added: (path: string) => `  new: ${path}`,
      removed: (path: string) => `  gone: ${path}`,
      changed: (path: string) => `  changed: ${path}`,
    },
    check: (warning: string) => `  Check this: ${warning}`,
    ask: (count: number) =>
      `${plural(count, { one: "Install this skill?", other: "Install these # skills?" })} The agent follows what it says. [y/N] `,
    unasked: "Nothing was installed. Read the preview above, then repeat the command with --yes.",
    declined: "Nothing was installed.",
    installed: (names: readonly string[]) => `Installed: ${names.join(", ")}`,
  },
} as const;
