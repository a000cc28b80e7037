const anyOf = new Intl.ListFormat("en", { type: "disjunction" });
const allOf = new Intl.ListFormat("en", { type: "conjunction" });

/** What `holdfast` itself says: its help, and what it answers to a line that it cannot run. A translation replaces this table. */
export const programStrings = {
  help: {
    title: (version: string) =>
      `holdfast ${version}: talk with AI agents, and keep every conversation.`,
    usage: "Usage: holdfast <command> [flags]",
    indentedUsage: "Usage: ",
    commands: "Commands:",
    flags: "Flags:",
    examples: "Examples:",
    hostSettings: "Settings, as a flag, in the environment, or in config.json in the home:",
    reachSettings:
      "Where the host is, as a flag, in the environment, or in config.json in the home:",
    example: {
      chat: "talk; nothing has to be set up first",
      run: "one question, one answer",
      pipe: "piped text follows the prompt",
      serve: "serve the page, and print its address",
    },
    more: '"holdfast <command> --help" shows the flags, settings and examples of a command.',
  },
  summaries: {
    serve: "serve the page and the API",
    chat: "talk in this terminal",
    run: "ask once and print the answer",
    acp: "connect an editor: Zed, JetBrains, Neovim, VS Code",
    sessions: "list, show, search, rename, delete, restore and branch sessions",
    approvals: "list open approvals and standing permissions, and revoke them",
    gateway: "the chat bot and webhooks: who may write, what did not arrive",
    schedules: "prompts sent at set times: list, add, switch, remove",
    mcp: "let an MCP client use this host, over standard input and output",
    "mcp-servers": "MCP servers that agents can use: list, add, switch, remove",
    rights: "what messages may do: list, set and assign rights profiles",
    workspaces: "the folders that sessions may work in: list, allow, forget",
    worktrees: "git worktrees that sessions work in: list, remove",
    instructions: "how the agent should answer you: show, set, delete",
    personas: "who the agent is: list, show, add, edit, delete",
    skills: "instructions for certain tasks: list, show, install, switch, trust",
    agents: "agents for certain tasks: list, show, switch, trust",
    projects: "sessions that belong together: list, show, add, edit, delete",
    memory: "what the agent knows about you, and what needs your approval",
    usage: "tokens and cost by day, model, session and schedule",
    export: "write a session as Markdown, a page or JSON",
    import: "read an exported session, or the data of another program",
    backup: "copy everything while the host runs",
    restore: "copy a backup into an empty home",
    config: "show every setting and where its value comes from, or set one",
    link: "print a link that signs a browser in",
    keys: "API keys for programs: list, add, revoke",
    secrets: "list stored secrets by name, and replace their encryption key",
    doctor: "check everything, and say how to fix what is wrong",
    "upgrade-check": "before an upgrade, say what it would do and what is missing",
    verify: "check, without a host, that an audit export is unchanged",
    blobs: "where pictures, attachments and large texts are, and moving them",
    fsck: "check everything that is stored, and repair what can be derived",
    completion: "print a script that completes commands in your shell",
    bench: "measure this disk and its database for a few seconds",
  },
  unknownCommand: (name: string, similar: readonly string[], all: readonly string[]) => {
    const hint =
      similar.length > 0
        ? `Did you mean ${anyOf.format(similar.map((each) => `"${each}"`))}?`
        : `The commands are ${allOf.format(all)}.`;
    return `"${name}" is not a command of Holdfast. ${hint} "holdfast --help" says what each does.`;
  },
  unknownAction: (
    command: string,
    action: string,
    similar: readonly string[],
    all: readonly string[],
  ) => {
    const hint =
      similar.length > 0
        ? `Did you mean ${anyOf.format(similar.map((each) => `"${command} ${each}"`))}?`
        : `After ${command} comes ${anyOf.format(all)}.`;
    return `There is no "holdfast ${command} ${action}". ${hint} "holdfast ${command} --help" explains each.`;
  },
  unknownFlag: (flag: string, similar: readonly string[]) =>
    similar.length > 0
      ? `There is no flag --${flag}. Did you mean ${anyOf.format(similar.map((each) => `--${each}`))}?`
      : `There is no flag --${flag}.`,
  flagNeedsValue: (flag: string) => `--${flag} needs a value.`,
  flagValueLooksLikeFlag: (flag: string) =>
    `--${flag} needs a value. If the value starts with "-", write it as --${flag}=-value.`,
  flagTakesNoValue: (flag: string) => `--${flag} takes no value.`,
  unexpectedArgument: (argument: string) => `"${argument}" is one argument too many.`,
  unreadableFlags: "These flags cannot be read.",
  shortFlag: (flag: string) => `There is no flag ${flag}. Flags are written out, like --json.`,
  seeHelp: (sentence: string, name: string) =>
    `${sentence} "holdfast ${name} --help" lists what it takes.`,
  /** Flags that several commands have. */
  flags: {
    json: "print each as a line of JSON",
    mode: "what runs without asking: plan, ask, edits or full",
    persona: "who the agent is: one of holdfast personas",
    project: "the project of the session: one of holdfast projects",
    workspace: "work in this folder (by default the current one)",
    worktree: "work in a git worktree of the folder, on a branch of its own",
    ownFolder: "work in an empty folder that Holdfast keeps for the session",
  },
  invalidMode: (modes: readonly string[]) => `--mode must be ${anyOf.format(modes)}.`,
  field: (path: string, message: string) => (path === "" ? `${message}.` : `${path}: ${message}.`),
} as const;
