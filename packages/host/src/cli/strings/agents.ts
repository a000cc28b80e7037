import { formatNumber, plural } from "@holdfast/protocol";

/** Every text of `holdfast agents`. A translation replaces this table. */
export const agentsStrings = {
  about:
    "An agent profile is a Markdown file that says how one kind of delegated task is done: a prompt, and limits for tools, rights, mode, model, effort and budget. Yours are in ~/.holdfast/agents. With --session, also those in the session's folder (.holdfast/agents); tasks are given to these only after you have trusted them as they are now.\n\nA delegated task can never do more than the session that delegated it.",
  flags: { session: "also the agents in this session's folder" },
  examples: {
    list: "all agents; those that cannot be used, and why",
    show: "its prompt, its limits, and what to check before you trust it",
    off: "it gets no tasks; on brings it back",
  },
  none: "No agents yet. Put a Markdown file with a name, a description and a prompt into ~/.holdfast/agents.",
  shadowed: (state: string, by: string) => `${state}, but the one in ${by} is used instead`,
  heading: (path: string, state: string) => `${path} (${state})`,
  limits: {
    tools: (names: readonly string[]) => `Tools: ${names.join(", ") || "none"}`,
    rights: (name: string) => `Rights: ${name}`,
    mode: (mode: string) => `Mode: ${mode} at most`,
    model: (name: string) => `Model: ${name}`,
    effort: (effort: string) => `Effort: ${effort}`,
    steps: (count: number) => plural(count, { one: "Budget: # step", other: "Budget: # steps" }),
    tokens: (count: number) => `Budget: ${formatNumber(count)} tokens`,
    cost: (dollars: string) => `Budget: ${dollars}`,
    minutes: (minutes: number) => `Budget: ${formatNumber(minutes)} min`,
  },
  skipped: (path: string, reason: string) => `${path}: ${reason}`,
  check: (warning: string) => `Check this: ${warning}`,
  switched: {
    on: (name: string) => `Switched on: ${name}`,
    off: (name: string) => `Switched off: ${name}`,
  },
  sessionMissing:
    "Name a session that works in the folder: --session <id>. holdfast sessions list shows the ids.",
  badSession: (id: string) =>
    `"${id}" is not the id of a session. holdfast sessions list --json shows the ids.`,
  nameMissing: "Name an agent; holdfast agents lists them.",
  unknown: (name: string) => `There is no agent "${name}". holdfast agents lists them.`,
  decided: {
    trusted: (path: string) => `Trusted: ${path}`,
    refused: (path: string) => `Refused: ${path}`,
  },
} as const;
