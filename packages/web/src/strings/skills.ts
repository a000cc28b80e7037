/** Texts about skills. */
export const skillsStrings = {
  skills: {
    title: "Skills",
    hint: "Instructions for certain tasks. The agent sees the names and descriptions, and loads the instructions when a task fits. In a conversation, /name uses one.",
    none: "No skills yet. Install one below, or put a folder with a SKILL.md into ~/.holdfast/skills on the host.",
    install: {
      title: "Install skills",
      place: "A folder on the host, or the https address of a git repository",
      look: "Preview",
      looking: "Reading…",
      upload: "Upload an archive",
      hint: "A zip or tar.gz archive works too. You see what it contains before anything is installed.",
      ask: (count: number) =>
        count === 1 ? "Install this skill?" : `Install these ${count} skills?`,
      lead: "The agent follows what a skill says. Read it first.",
      confirm: "Install",
      replaces: (count: number) =>
        count === 0
          ? "It replaces the installed one, which has the same files."
          : `It replaces the installed one: ${count === 1 ? "1 file is" : `${count} files are`} different`,
      change: { added: "New", removed: "Removed", changed: "Changed" },
      installed: (names: readonly string[]) => `Installed: ${names.join(", ")}`,
    },
    source: {
      home: "installed on this host",
      agents: "from ~/.agents/skills",
      workspace: "from this folder",
    },
    state: {
      on: "on",
      off: "off",
      undecided: "waiting for your decision: the agent does not see it",
      refused: "rejected: the agent does not see it",
    },
    shadowed: (folder: string) =>
      `Not used: the skill of the same name in ${folder} is used instead.`,
    warnings: "Check this before you use it",
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
      "Its folder is deleted from the host. Conversations that have used it keep its instructions.",
    removed: "Removed.",
    skipped: "Not used",
    folder: "Skills in this folder",
    found: (count: number) =>
      count === 1
        ? "A skill was found in this folder"
        : `${count} skills were found in this folder`,
    lead: "If you trust a skill, the agent can follow its instructions. If a skill changes, you are asked again.",
    trust: "Trust this skill",
    refuse: "Don’t use it",
    trustNamed: (name: string) => `Trust ${name}`,
    refuseNamed: (name: string) => `Don’t use ${name}`,
    trusted: "Trusted. The agent can use it from its next answer on.",
    refused: "Rejected. The agent does not see it.",
    waiting: (count: number) =>
      `${count} more in this folder need your decision. Open the conversation’s context to trust them.`,
    noneHere: "This conversation has no skills.",
  },
} as const;
