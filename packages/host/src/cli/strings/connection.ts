/** What commands say about reaching a host and about folders. A translation replaces this table. */
export const connectionStrings = {
  tokenMissing: (url: string) =>
    `The host at ${url} needs its token. Set HOLDFAST_TOKEN, or give --token.`,
  tokenUnreadable: (path: string) =>
    `The token in ${path} cannot be read. Check its permissions, or set HOLDFAST_TOKEN.`,
  noHost: "no host serves this home",
  startedElsewhere:
    "Another process is starting a host, and the host does not answer. Wait a moment and try again; holdfast doctor shows more.",
  notStarted: (reason: string) => `A host could not be started: ${reason}`,
  seeLog: (path: string) => `see ${path}`,
  folder: {
    refused: (folder: string) => `Sessions may not work in ${folder}.`,
    worktreeOrOwn: "Use --worktree or --own-folder, not both.",
    worktreeIsNew: "--worktree is for a new session: leave out --session.",
    worktreeNeedsFolder:
      "--worktree needs the folder of a git repository: name one with --workspace.",
    oneOfBoth: "Use --workspace or --own-folder, not both.",
    notYet: (folder: string, allow: string) =>
      `Holdfast may not work in ${folder} yet. To allow it: ${allow}`,
    toAllow: (allow: string) => `To let it work here: ${allow}`,
    ask: (folder: string) =>
      `Let Holdfast work in ${folder}?\nIt reads files there without asking. This is remembered for the folder. [y/N] `,
    left: "Nothing was sent or changed.",
    mayNot: (folder: string) => `Holdfast may not work in ${folder}.`,
    notAllowed: "You did not allow it.",
    needsAbsolute:
      "The host is on another machine. Give --workspace an absolute path on that machine.",
    ownFolder: (folder: string, why: string) =>
      `The session works in a folder of its own, not in ${folder}. ${why}`,
    remote: (host: string) =>
      `The session works in a folder of its own at ${host}, because that host is on another machine.`,
    key: "The session works in a folder of its own, because an API key cannot allow this one. With --workspace you can name a folder that the operator allows.",
    theHost: "the host",
  },
} as const;
