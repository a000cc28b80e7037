import { formatDollars, formatNumber, plural } from "@holdfast/protocol";

/** Texts about agent profiles. */
export const agentsStrings = {
  agents: {
    title: "Agents",
    hint: "Agents that tasks can be delegated to. Each is a file with a prompt and limits for tools, rights, model and budget. An agent can never do more than the conversation that gives it the task.",
    none: "No agents yet. Put a Markdown file with a name, a description and a prompt into ~/.holdfast/agents on the host.",
    source: { home: "on this host", workspace: "from this folder" },
    state: {
      on: "on",
      off: "off",
      undecided: "waiting for your decision: it gets no tasks",
      refused: "rejected: it gets no tasks",
    },
    limits: {
      tools: (names: readonly string[]) =>
        names.length === 0 ? "no tools" : `only ${names.join(", ")}`,
      rights: (name: string) => `rights: ${name}`,
      mode: (mode: string) => `mode: at most ${mode}`,
      effort: (effort: string) => `effort: ${effort}`,
      steps: (count: number) => plural(count, { one: "# step", other: "# steps" }),
      tokens: (count: number) => plural(count, { one: "# token", other: "# tokens" }),
      cost: (micros: number) => formatDollars(micros),
      minutes: (minutes: number) => `${formatNumber(minutes)} min`,
    },
    shadowed: (file: string) => `Not used: the agent of the same name in ${file} is used instead.`,
    warnings: "Check this before you use it",
    read: "Show prompt",
    turnOn: "Switch on",
    turnOff: "Switch off",
    turnOnNamed: (name: string) => `Switch on ${name}`,
    turnOffNamed: (name: string) => `Switch off ${name}`,
    folder: "Agents in this folder",
    found: (count: number) =>
      count === 1
        ? "An agent was found in this folder"
        : `${count} agents were found in this folder`,
    lead: "If you trust an agent, this conversation can give it tasks. If its file changes, you are asked again.",
    trust: "Trust this agent",
    refuse: "Don’t use it",
    trustNamed: (name: string) => `Trust ${name}`,
    refuseNamed: (name: string) => `Don’t use ${name}`,
    trusted: "Trusted. It can get tasks from the next answer on.",
    refused: "Rejected. It gets no tasks.",
    waiting: (count: number) =>
      `${count} more in this folder need your decision. Open the conversation’s context to trust them.`,
    noneHere: "This conversation has no agents to give tasks to.",
  },
} as const;
