import { plural } from "@holdfast/protocol";
/** Every text of `holdfast workspaces`, `keys`, `approvals` and `link`. A translation replaces these tables. */
export const workspacesStrings = {
  about:
    "The folders that sessions may work in. If the operator has set roots (workspaceRoots), only folders below them count. Otherwise allow a folder once, on the host's machine: never your home folder, a folder that contains it, or Holdfast's own.",
  examples: {
    allow: "the current folder",
    list: "the operator's roots, and what you have allowed",
    forget: "you are asked again from now on",
  },
  whichSession: "Say which conversation: holdfast workspaces take-over <session>",
  takenOver:
    "The files on the lost host have been given up. The conversation continues in an empty folder.",
  kinds: { root: "root", allowed: "allowed" },
  none: "None. Sessions work in folders of their own. To allow this one: holdfast workspaces allow",
  allowed: (path: string) => `Sessions may work in ${path}.`,
  forgotten: (path: string) => `Sessions may no longer work in ${path}.`,
  notAllowed: (path: string) =>
    `${path} was not allowed. holdfast workspaces lists the allowed folders.`,
} as const;

export const keysStrings = {
  about:
    "Programs use API keys in place of the token. A key reaches the sessions that were made with it, and no settings. Its secret is shown once.",
  flags: { profile: "its rights profile (program)" },
  examples: {
    add: "show the key, this once",
    list: "all keys, and when each was last used",
    revoke: "end the key and its streams at once",
  },
  none: "No API keys yet. To make one: holdfast keys add <name>",
  neverUsed: "never used",
  used: (time: string) => `used ${time}`,
  revoked: (time: string) => `revoked ${time}`,
  made: (time: string) => `made ${time}`,
  nameMissing: (action: string) => `Name the key: holdfast keys ${action} <name>`,
  keepSecret: "Copy this key now: it is not shown again.",
  unknown: (name: string) => `There is no active key "${name}". holdfast keys lists them.`,
  isRevoked: (name: string) => `${name} is revoked.`,
} as const;

export const approvalsStrings = {
  about:
    "Lists what needs your approval in all sessions, and what you have allowed for more than one call. Revokes such a permission.",
  examples: {
    list: "open approvals, and where to answer each",
    rules: "what you have always allowed, or allowed for a session",
    revoke: "you are asked again from then on",
  },
  none: "Nothing needs your approval.",
  answerIn: (session: string) => `holdfast chat --session ${session}`,
  always: "always",
  inSession: (session: string) => `in ${session}`,
  until: (time: string) => `, until ${time}`,
  noRules: "Nothing is allowed for more than one call.",
  idMissing: "Give an id like apr_…; holdfast approvals rules lists them.",
  revoked: "Revoked. You are asked again from now on.",
} as const;

export const linkStrings = {
  about:
    "Prints a link that signs one browser in, once, within ten minutes: for another browser, or if the link that serve printed was used.",
  flags: { json: "print the link and when it expires as a line of JSON" },
  examples: { link: "while a host runs" },
  noHost: "No host is running. Start one with holdfast serve; it prints a link.",
} as const;

/** Every text of `holdfast worktrees`. A translation replaces this table. */
export const worktreesStrings = {
  about:
    "A session can work in a git worktree of a repository: its own folder in Holdfast's home, on its own branch (holdfast chat --worktree). To bring its work into your branch, run git merge <branch> in the repository. A worktree is removed here, or with its session when that is deleted for good.",
  flags: {
    deleteBranch: "also delete the branch",
    lose: "confirm losing work, with the code that the refusal shows",
  },
  examples: {
    list: "each with its branch and the work that is only there",
    remove: "removes the folder and keeps the branch",
  },
  none: "No worktrees. To begin one: holdfast chat --worktree",
  used: "in use",
  unused: "no session",
  unfinished: "unfinished: the host was stopped in the middle and finishes at its next start",
  unknown: "git cannot say what is in it",
  work: (changes: number, commits: number) =>
    `${plural(changes, { one: "# file not committed", other: "# files not committed" })}, ${plural(commits, { one: "# commit not merged", other: "# commits not merged" })}`,
  idMissing: "Name a worktree by its id; holdfast worktrees lists them.",
  removed: {
    keep: (branch: string) => `Removed. The branch ${branch} is kept.`,
    delete: (branch: string) => `Removed, with the branch ${branch}.`,
  },
  toLose: (code: string) => `To discard exactly this work: --lose ${code}`,
} as const;
