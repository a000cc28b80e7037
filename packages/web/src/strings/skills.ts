/** Texts about skills. */
export const skillsStrings = {
  skills: {
    title: "Skills",
    hint: "Instructions for certain tasks. The agent sees the names and descriptions, and takes the instructions when a task fits. In a conversation, /name uses one.",
    none: "No skills yet. Put a folder with a SKILL.md into ~/.holdfast/skills on the host.",
    source: {
      home: "installed on this host",
      agents: "from ~/.agents/skills",
      workspace: "from this folder",
    },
    state: {
      on: "on",
      off: "off",
      undecided: "not decided yet: the agent does not see it",
      refused: "rejected: the agent does not see it",
    },
    shadowed: (folder: string) => `Not used: the skill of this name in ${folder} counts.`,
    warnings: "Look at this before you use it",
    read: (files: number) =>
      files === 1 ? "Show instructions" : `Show instructions and ${files} files`,
    fileRow: (path: string, size: number) => `${path} (${size.toLocaleString()} bytes)`,
    turnOn: "Switch on",
    turnOff: "Switch off",
    turnOnNamed: (name: string) => `Switch on ${name}`,
    turnOffNamed: (name: string) => `Switch off ${name}`,
    remove: "Remove",
    removeNamed: (name: string) => `Remove ${name}`,
    removeTitle: (name: string) => `Remove the skill ${name}?`,
    removeHint:
      "Its folder is deleted from the host. Conversations that have used it keep what they were told.",
    removed: "Removed.",
    skipped: "Not used",
    folder: "Skills in this folder",
    found: (count: number) =>
      count === 1
        ? "A skill was found in this folder"
        : `${count} skills were found in this folder`,
    lead: "If you trust a skill, the agent can follow its instructions. A skill that changes has to be trusted again.",
    trust: "Trust this skill",
    refuse: "Don't use it",
    trustNamed: (name: string) => `Trust ${name}`,
    refuseNamed: (name: string) => `Don't use ${name}`,
    trusted: "The agent has it from the next answer on.",
    refused: "Not used.",
    waiting: (count: number) =>
      `${count} more in this folder: trust them in the conversation's context.`,
    noneHere: "There are no skills here.",
  },
} as const;
