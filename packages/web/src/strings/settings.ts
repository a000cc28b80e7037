import { formatNumber } from "@holdfast/protocol";

/** As their makers write them. */
const storeNames: Readonly<Record<string, string>> = { sqlite: "SQLite", postgres: "PostgreSQL" };

const compactNumber = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumFractionDigits: 1,
});

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

interface ModelFacts {
  readonly window: number;
  readonly price: { readonly input: number; readonly output: number } | null;
  readonly images: boolean;
}

function priceText({ input, output }: { readonly input: number; readonly output: number }): string {
  return input === 0 && output === 0 ? "free" : `$${input} in, $${output} out per M`;
}

/** Why a request did not begin with the previous one, after "… changed". */
const prefixCauses: Readonly<Record<string, string>> = {
  edit: " because a message was edited.",
  retry: " because an answer was retried.",
  undo: " because a turn was undone.",
  truncate: " because later messages were removed.",
  clear: " because the conversation was cleared.",
  model: " because another model answers.",
  persona: " because the persona changed.",
  skills: " because the skills changed.",
  agents: " because the agents changed.",
  workspace: " because the folder or its instructions changed.",
  mcp: " because the tools of an MCP server changed.",
  first: " because this is its first request.",
  rendering: " because a newer version of Holdfast writes it differently.",
  lost: " because the stored one could not be read.",
  configuration: " because the configuration changed.",
  "context.compacted": " because earlier messages were summarised.",
  "context.epoch": " because an earlier context was restored.",
  "history.restored": " because another version of a message is shown.",
  "notice.changed": " because a late answer was recovered.",
};

export const settingsStrings = {
  models: {
    setUp: "Models and keys…",
    search: "Search models",
    window: (tokens: number) => `${tokens.toLocaleString()} tokens`,
    facts: ({ window, price, images }: ModelFacts) =>
      [
        `${compactNumber.format(window)} tokens`,
        price !== null && priceText(price),
        images && "sees images",
      ]
        .filter((fact) => fact !== false)
        .join(" · "),
    hidden: (count: number) => `${count.toLocaleString()} more. Type to narrow the list.`,
    noMatch: "No model matches.",
    makeDefault: (title: string) => `Make ${title} the default`,
    defaultSet: "Default model changed. Conversations that chose a model keep it.",
    defaultTitle: "Default model",
    defaultHint: "Used in conversations that have not chosen a model.",
    roles: {
      title: "Other models",
      small: "For titles and summaries",
      smallAutomatic: "Automatic: a small one of the same provider",
      fallback: "When the chosen model can’t answer",
      fallbackNone: "None: stop and say why",
    },
    automatic: "Automatic",
    effort: "Reasoning effort",
    effortDefault: "Provider's default",
    efforts: { low: "Low", medium: "Medium", high: "High" },
    local: (title: string) => `${title} is running on this computer.`,
    chooseLocal: (name: string) => `Use ${name}`,
    noLocal: "Or start Ollama or LM Studio on this computer.",
    lookAgain: "Look again",
    keys: "Keys",
    keysHint:
      "Keys are stored encrypted on the host, sent only to their provider, and never shown again.",
    from: {
      environment: (name: string) => `key from ${name === "" ? "the environment" : name}`,
      stored: () => "key stored",
      none: () => "no key",
    },
    orSet: {
      anthropic: "Paste a key, or start the host with ANTHROPIC_API_KEY.",
      openai: "Paste a key, or start the host with OPENAI_API_KEY.",
      google: "Paste a key, or start the host with GEMINI_API_KEY.",
      "openai-compatible":
        "Enter its address, and a key if it needs one, or start the host with HOLDFAST_OPENAI_BASE_URL.",
    },
    key: (title: string) => `Key for ${title}`,
    keyHint: "Paste API key",
    keyOrAnyWord: "API key (any text if none is needed)",
    address: (title: string) => `Address of ${title}`,
    addressHint: "https://…",
    saved: "Key verified and saved.",
    savedUnverified: "Key saved, but it could not be verified.",
    check: {
      verified: "verified",
      rejected: "API key rejected",
      unreachable: "can't be reached",
      unverified: "not verified",
    },
    serverCheck: {
      verified: "running",
      rejected: "needs a key",
      unreachable: "not running",
      unverified: "not checked",
    },
    checkAgain: "Check again",
    checkAgainNamed: (title: string) => `Check again: ${title}`,
    forget: "Remove key",
    forgotten: "Key removed.",
    all: "Models",
    pricesAsOf: (date: string) => `Windows and prices as published on ${date}.`,
    windowTitle: "Window",
    inputPrice: "In / M",
    outputPrice: "Out / M",
    dollars: (rate: number) => `$${rate}`,
    usual: "Default",
    usable: "Ready",
    notUsable: "Needs a key",
  },
  context: {
    title: "Context",
    open: "Show context",
    changeCosts: "This changes how the conversation begins, so none of it stays cached.",
    sharedChangeCosts:
      "A change here also changes how open conversations begin, so none of them stays cached.",
    model: "Model",
    calls: "Requests",
    tokens: "Tokens",
    hitShare: "Cached",
    percent: (share: number) => `${Math.round(share * 100)}%`,
    filled: (tokens: number) => `About ${tokens.toLocaleString()} tokens`,
    filledOf: (tokens: number, window: number, share: number) =>
      `About ${tokens.toLocaleString()} of ${window.toLocaleString()} tokens, ${Math.round(share * 100)}%`,
    picture: "Context window usage",
    kinds: {
      system: "System prompt",
      tools: "Tools",
      summary: "Summary",
      user: "Your messages",
      assistant: "Answers",
      tool: "Tool results",
    },
    cache: "Prompt cache by turn",
    cacheHint:
      "Share of each request that the provider had cached. A dot marks a turn whose prefix changed.",
    noTurns: "No turns yet.",
    plot: (turns: number) => `Cached share over ${turns} turns`,
    changed: {
      system: "The system prompt changed",
      tools: "The tools changed",
      conversation: "Earlier messages changed",
    },
    explained: (cause: string) => prefixCauses[cause] ?? `: ${cause.replaceAll(/[._]/g, " ")}.`,
    unexplained: ". No cause was recorded: this is a bug, please report it.",
    epochs: "Epochs",
    epochsHint:
      "Each epoch is a starting point of the context. You can return to an earlier one; nothing is lost.",
    epoch: (n: number) => `Epoch ${n}`,
    covers: (from: number, to: number) => `summary of ${from} to ${to}`,
    whole: (n: number) => (n === 0 ? "the whole conversation" : `back to epoch ${n}`),
    current: "In use",
    conversation: "Full conversation",
    restore: "Restore",
    restored: "Restored. It applies from the next answer on.",
  },
  settings: {
    title: "Settings",
    back: "Back to conversations",
    sections: {
      models: "Models and keys",
      tools: "Tools and approvals",
      mcp: "MCP servers",
      schedules: "Schedules",
      gateway: "Chat bot",
      editors: "Editors",
      agent: "Instructions and projects",
      memory: "Memory",
      usage: "Usage",
      import: "Import",
      appearance: "Appearance",
      system: "System",
    },
    theme: "Theme",
    themes: { system: "Match system", light: "Light", dark: "Dark" },
    themeHint: "Saved in this browser.",
    health: "Health",
    version: "Version",
    store: "Store",
    status: "Status",
    storeReady: (kind: string, ready: boolean) =>
      `${storeNames[kind] ?? kind}, ${ready ? "ready" : "not ready"}`,
    openApprovals: "Pending approvals",
    noApprovals: "Nothing needs your approval.",
    openSession: "Open the conversation",
    fsck: {
      title: "Integrity check",
      hint: "Checks that every stored row follows from the log. It runs alongside normal use and changes nothing.",
      start: "Check now",
      running: (sessions: number, events: number) =>
        `${sessions.toLocaleString()} conversations, ${events.toLocaleString()} events so far`,
      done: (clean: boolean, events: number, findings: number) =>
        clean
          ? `No problems found in ${events.toLocaleString()} events.`
          : `${findings.toLocaleString()} problems found in ${events.toLocaleString()} events.`,
    },
    backup: {
      title: "Backup",
      hint: "Copies the database, memory, skills, agents and settings to the “backups” folder in the host's home while the host runs, restores the copy into a scratch home and checks it there. Keys, the token, workspaces and saved file versions are not included: keep a copy of secrets.key elsewhere.",
      unsupported:
        "This host keeps everything in PostgreSQL. Back it up with pg_dump, or export everything below.",
      start: "Back up now",
      made: (name: string, bytes: number) =>
        `Backup ${name} created and checked: ${megabytes(bytes)}.`,
      running: {
        copying: () => "Copying the database …",
        checking: (sessions: number, events: number) =>
          `Checking the copy: ${formatNumber(sessions)} conversations, ${formatNumber(events)} events …`,
      },
      last: (time: string) => `Last verified backup: ${time}.`,
      none: "There is no verified backup yet.",
      item: (time: string, bytes: number) => `${time}, ${megabytes(bytes)}`,
      notVerified: "not verified",
    },
    exportAll: {
      title: "Export everything",
      hint: "Writes all conversations, attachments, facts, settings, memory and skills to one file that another Holdfast can import (holdfast import). It contains conversations word for word, but no stored keys, sign-ins or workspaces. Pages and Markdown are for reading offline.",
      formats: {
        jsonl: "For another Holdfast (JSON lines)",
        html: "Pages (zip)",
        md: "Markdown (zip)",
      },
    },
    signIns: {
      title: "Sign-ins",
      hint: "Browsers that are signed in. Signing one out disconnects it at once.",
      unknown: "Unknown browser",
      since: (moment: string) => `since ${moment}`,
      current: "this browser",
      end: "Sign out",
    },
    memory: {
      title: "Waiting to be remembered",
      hint: "Each completed turn is added to memory once: at a new conversation, after a pause, or at shutdown.",
      nothing: "Everything has been remembered.",
      oldest: "Oldest",
      failing: (message: string, tries: number) => `${message} (${tries} tries)`,
      waiting: "Facts that need your approval",
      waitingHint:
        "The model had read text from an unknown author when it noted these. Only the facts you keep are remembered.",
      after: (sources: string) => `after reading ${sources}`,
      keep: "Keep",
      keepNamed: (text: string) => `Keep: ${text}`,
      discard: "Discard",
      discardNamed: (text: string) => `Discard: ${text}`,
      kept: "The fact was kept.",
      discarded: "The fact was discarded.",
    },
    shortcuts: "Keys",
    signOut: "Sign out of this browser",
  },
  apiKeys: {
    title: "API keys",
    hint: "A program with a key can use the conversations that it started, with the rights of the key's profile.",
    facts: (profile: string, lastUsed: string | null) =>
      `profile ${profile}; ${lastUsed === null ? "never used" : `last used ${lastUsed}`}`,
    form: "A new API key",
    name: "Program name",
    create: "Create key",
    secret: "Key",
    secretOf: (name: string) => `Key for ${name}`,
    secretLead: "Copy it now: it cannot be shown again.",
    revoke: "Revoke",
    revokeNamed: (name: string) => `Revoke the key of ${name}`,
    revoked: "The key was revoked.",
  },
  rights: {
    title: "Rights",
    hint: "What a message may do depends on where it comes from. By default, groups have the profile “group”, webhooks “webhook”, and everything else “owner”.",
    toolsFact: (tools: readonly string[]) =>
      tools.includes("*") ? "all tools" : tools.length === 0 ? "no tools" : tools.join(", "),
    sessionsFact: {
      own: "own conversations",
      project: "conversations in the same project",
      all: "all conversations",
    },
    memoryFact: { none: "no memory", read: "reads memory", write: "reads and writes memory" },
    answers: "answers approvals",
    answersNot: "cannot answer approvals",
    spendFact: (dollars: number) => `$${dollars} within 24 hours`,
    form: "A rights profile",
    name: "Profile name",
    tools: "Tools, like read_file, wiki__*",
    sessions: "Conversations it searches",
    memory: "Memory",
    spend: "Spending limit in dollars per 24 hours (optional)",
    save: "Save profile",
    saved: "The profile was saved.",
    remove: "Remove",
    removeNamed: (name: string) => `Remove the profile ${name}`,
    removed: "The profile was removed.",
    giveForm: "Assign a profile",
    subject: "Who: groups, webhooks, schedules, children, editors, webhook:NAME, lane:LANE",
    unknownSubject:
      "Name groups, webhooks, schedules, children, editors, webhook:NAME, schedule:ID or lane:LANE.",
    profile: "Profile",
    give: "Assign",
    given: "The profile applies to new messages from now on.",
    takeBack: "Use default",
    takeBackNamed: (subject: string) => `Use the default profile for ${subject}`,
  },
} as const;
