import type { Command } from "../command.ts";
import { programStrings } from "../strings/program.ts";

const { summaries } = programStrings;

interface CommandEntry {
  readonly summary: string;
  /** Loaded on demand: `--version` should not wait for a web server. */
  readonly load: () => Promise<Command>;
}

/** All commands, in the order of the help. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  serve: {
    summary: summaries.serve,
    load: async () => (await import("./serve.ts")).serve,
  },
  chat: {
    summary: summaries.chat,
    load: async () => (await import("../chat/chat-command.ts")).chatCommand,
  },
  run: {
    summary: summaries.run,
    load: async () => (await import("./run.ts")).run,
  },
  acp: {
    summary: summaries.acp,
    load: async () => (await import("./acp.ts")).acp,
  },
  sessions: {
    summary: summaries.sessions,
    load: async () => (await import("./sessions.ts")).sessions,
  },
  approvals: {
    summary: summaries.approvals,
    load: async () => (await import("./approvals.ts")).approvals,
  },
  gateway: {
    summary: summaries.gateway,
    load: async () => (await import("./gateway.ts")).gateway,
  },
  schedules: {
    summary: summaries.schedules,
    load: async () => (await import("./schedules.ts")).schedules,
  },
  mcp: {
    summary: summaries.mcp,
    load: async () => (await import("./mcp.ts")).mcp,
  },
  "mcp-servers": {
    summary: summaries["mcp-servers"],
    load: async () => (await import("./agent/mcp-servers.ts")).mcpServers,
  },
  rights: {
    summary: summaries.rights,
    load: async () => (await import("./rights.ts")).rights,
  },
  workspaces: {
    summary: summaries.workspaces,
    load: async () => (await import("./workspaces.ts")).workspaces,
  },
  worktrees: {
    summary: summaries.worktrees,
    load: async () => (await import("./agent/worktrees.ts")).worktrees,
  },
  instructions: {
    summary: summaries.instructions,
    load: async () => (await import("./agent/instructions.ts")).instructions,
  },
  personas: {
    summary: summaries.personas,
    load: async () => (await import("./agent/personas.ts")).personas,
  },
  skills: {
    summary: summaries.skills,
    load: async () => (await import("./agent/skills.ts")).skills,
  },
  agents: {
    summary: summaries.agents,
    load: async () => (await import("./agent/agents.ts")).agents,
  },
  projects: {
    summary: summaries.projects,
    load: async () => (await import("./agent/projects.ts")).projects,
  },
  memory: {
    summary: summaries.memory,
    load: async () => (await import("./memory.ts")).memory,
  },
  usage: {
    summary: summaries.usage,
    load: async () => (await import("./usage.ts")).usage,
  },
  export: {
    summary: summaries.export,
    load: async () => (await import("./transfer/transfer.ts")).exportCommand,
  },
  import: {
    summary: summaries.import,
    load: async () => (await import("./transfer/transfer.ts")).importCommand,
  },
  backup: {
    summary: summaries.backup,
    load: async () => (await import("./transfer/transfer.ts")).backup,
  },
  restore: {
    summary: summaries.restore,
    load: async () => (await import("./transfer/transfer.ts")).restore,
  },
  config: {
    summary: summaries.config,
    load: async () => (await import("./config.ts")).config,
  },
  link: {
    summary: summaries.link,
    load: async () => (await import("./link.ts")).link,
  },
  keys: {
    summary: summaries.keys,
    load: async () => (await import("./keys.ts")).keys,
  },
  secrets: {
    summary: summaries.secrets,
    load: async () => (await import("./secrets.ts")).secrets,
  },
  doctor: {
    summary: summaries.doctor,
    load: async () => (await import("../doctor/doctor.ts")).doctor,
  },
  "upgrade-check": {
    summary: summaries["upgrade-check"],
    load: async () => (await import("../doctor/upgrade-check.ts")).upgradeCheck,
  },
  verify: {
    summary: summaries.verify,
    load: async () => (await import("./verify.ts")).verify,
  },
  blobs: {
    summary: summaries.blobs,
    load: async () => (await import("./blobs.ts")).blobs,
  },
  fsck: {
    summary: summaries.fsck,
    load: async () => (await import("./fsck.ts")).fsck,
  },
  completion: {
    summary: summaries.completion,
    load: async () => (await import("../completion/completion.ts")).completion,
  },
  bench: {
    summary: summaries.bench,
    load: async () => (await import("./bench.ts")).bench,
  },
};
