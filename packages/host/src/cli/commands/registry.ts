import type { Command } from "../command.ts";

interface CommandEntry {
  readonly summary: string;
  /** Loaded on demand: `--version` should not wait for a web server. */
  readonly load: () => Promise<Command>;
}

/** All commands, in the order of the help. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  serve: {
    summary: "serve the page and the API",
    load: async () => (await import("./serve.ts")).serve,
  },
  chat: {
    summary: "talk in this terminal",
    load: async () => (await import("../chat/chat-command.ts")).chatCommand,
  },
  run: {
    summary: "ask once and print the answer",
    load: async () => (await import("./run.ts")).run,
  },
  acp: {
    summary: "connect an editor: Zed, JetBrains, Neovim, VS Code",
    load: async () => (await import("./acp.ts")).acp,
  },
  sessions: {
    summary: "list, show, search, rename, delete, restore and branch sessions",
    load: async () => (await import("./sessions.ts")).sessions,
  },
  approvals: {
    summary: "list open approvals and what you have allowed, and revoke it",
    load: async () => (await import("./approvals.ts")).approvals,
  },
  gateway: {
    summary: "the chat bot and webhooks: who may speak, and what has not arrived",
    load: async () => (await import("./gateway.ts")).gateway,
  },
  schedules: {
    summary: "prompts that are said by themselves: list, add, switch off and on, remove",
    load: async () => (await import("./schedules.ts")).schedules,
  },
  mcp: {
    summary: "let an MCP client use this host, over standard input and output",
    load: async () => (await import("./mcp.ts")).mcp,
  },
  "mcp-servers": {
    summary: "the MCP servers whose tools agents have: list, add, switch off and on, remove",
    load: async () => (await import("./agent/mcp-servers.ts")).mcpServers,
  },
  rights: {
    summary: "what messages may cause: list, set and assign rights profiles",
    load: async () => (await import("./rights.ts")).rights,
  },
  workspaces: {
    summary: "the folders that sessions may work in: list, allow, forget",
    load: async () => (await import("./workspaces.ts")).workspaces,
  },
  instructions: {
    summary: "how the agent should answer you: show, set, delete",
    load: async () => (await import("./agent/instructions.ts")).instructions,
  },
  personas: {
    summary: "who the agent is: list, show, add, edit, delete, choose the default",
    load: async () => (await import("./agent/personas.ts")).personas,
  },
  skills: {
    summary:
      "instructions for certain tasks: list, show, install, switch off and on, remove, trust",
    load: async () => (await import("./agent/skills.ts")).skills,
  },
  projects: {
    summary: "sessions that belong together: list, show, add, edit, delete",
    load: async () => (await import("./agent/projects.ts")).projects,
  },
  memory: {
    summary: "facts that need your approval before they are remembered: list, keep, discard",
    load: async () => (await import("./memory.ts")).memory,
  },
  usage: {
    summary: "tokens and cost by day, model, session and schedule",
    load: async () => (await import("./usage.ts")).usage,
  },
  export: {
    summary: "write a session as Markdown, a page, or JSON",
    load: async () => (await import("./transfer.ts")).exportCommand,
  },
  import: {
    summary: "take in a session that was exported as JSON",
    load: async () => (await import("./transfer.ts")).importCommand,
  },
  backup: {
    summary: "copy everything while hosts work",
    load: async () => (await import("./transfer.ts")).backup,
  },
  restore: {
    summary: "put a backup into an empty home",
    load: async () => (await import("./transfer.ts")).restore,
  },
  config: {
    summary: "show every setting and where it came from, set one, print the schema",
    load: async () => (await import("./config.ts")).config,
  },
  link: {
    summary: "print a link that signs another browser in",
    load: async () => (await import("./link.ts")).link,
  },
  keys: {
    summary: "API keys for programs: list, add, revoke",
    load: async () => (await import("./keys.ts")).keys,
  },
  secrets: {
    summary: "list stored secrets by name, and rotate the key that encrypts them",
    load: async () => (await import("./secrets.ts")).secrets,
  },
  doctor: {
    summary: "check everything, and say how to mend what is wrong",
    load: async () => (await import("../doctor/doctor.ts")).doctor,
  },
  verify: {
    summary: "check without a host that nothing in an audit export was changed",
    load: async () => (await import("./verify.ts")).verify,
  },
  fsck: {
    summary: "prove that everything stored is whole, or mend what can be derived again",
    load: async () => (await import("./fsck.ts")).fsck,
  },
  completion: {
    summary: "print a script that makes a shell complete commands, flags and sessions",
    load: async () => (await import("../completion/completion.ts")).completion,
  },
  bench: {
    summary: "measure this disk and this store for a few seconds",
    load: async () => (await import("./bench.ts")).bench,
  },
};
