interface SwitchTexts {
  readonly tokens: number;
  readonly now: number | null;
  readonly cached: number | null;
}

function dollars(amount: number): string {
  const digits = amount < 0.1 ? 3 : 2;
  return amount < 0.001 ? "less than $0.001" : `$${amount.toFixed(digits)}`;
}

/** Texts of the settings that change the host, of usage, attention and the installed page. */
export const hostSettingsStrings = {
  hostSettings: {
    title: "Permissions",
    hint: "What the agent may do without asking. Changes apply to every conversation at once.",
    policy: "Tool policy",
    policies: {
      ask: "Ask before changes (recommended)",
      "read-only": "Read only",
      trusted: "Allow everything except shell commands",
      deny: "No tools",
    },
    mode: "Mode for new conversations",
    modes: {
      plan: "Plan: reads, then proposes a plan",
      ask: "Ask before changes",
      edits: "Accept file edits",
      full: "Full: commands too, in the sandbox",
    },
    sandbox: "Sandbox for commands",
    sandboxes: {
      required: "Required: nothing runs without it",
      preferred: "Preferred: used where the system supports it",
      off: "Off",
    },
    rules: "Rules",
    rulesHint:
      "One per line, such as “allow terminal: git status” or “deny fetch_url”. The strictest matching rule wins over the policy.",
    saveRules: "Save rules",
    tools: "Tools",
    toolsHint:
      "Tools that are off are not offered to the agent. A change applies to the next message.",
    saved: "Saved.",
    savedForRestart: "Saved. It takes effect when the host restarts.",
    afterRestart: (value: string) => `After a restart: ${value}.`,
    reset: "Reset to default",
    resetNamed: (label: string) => `Reset ${label} to default`,
    setIn: (where: string) => `Set by ${where}, which takes precedence. Change it there.`,
    byFlag: (name: string) => `the flag ${name}`,
    commands: (name: string) => `Commands that ${name} may use`,
    commandsHint: "If you choose none, everything it sends is a message.",
  },
  webSearch: {
    title: "Web search",
    hint: "With a search provider, the agent can search the web. Each search needs your approval unless a rule allows it.",
    off: "No provider is set up, so the agent cannot search.",
    used: (title: string) => `The agent searches with ${title}.`,
    provider: "Search provider",
    providers: {
      auto: "The first one that is set up",
      searxng: "SearXNG",
      brave: "Brave Search",
      tavily: "Tavily",
      exa: "Exa",
      off: "Off",
    },
    check: "Check",
    checks: {
      verified: "works",
      rejected: "API key rejected",
      unreachable: "does not work",
      unverified: "not checked",
    },
    noAddress: "no address",
    address: "Address of SearXNG",
    addressHint: "http://127.0.0.1:8888",
    addressNote: "Its settings.yml needs json under search.formats.",
    saved: "Key saved. One search was made to check it.",
  },
  switching: {
    title: (model: string) => `Switch to ${model}?`,
    confirm: "Switch",
    lead: ({ tokens, now, cached }: SwitchTexts) => {
      const again = `The new model has nothing cached: it reads about ${tokens.toLocaleString()} tokens from scratch`;
      if (now === null) return `${again}.`;
      const instead = cached === null ? "" : `, instead of about ${dollars(cached)}`;
      return `${again} with the next message, for about ${dollars(now)}${instead}.`;
    },
    meter: (tokens: number, window: number, share: number) =>
      `Context ${Math.round(share * 100)}% full: about ${tokens.toLocaleString()} of ${window.toLocaleString()} tokens`,
  },
  attention: {
    title: "Notifications",
    hint: "For when you are not looking at this page: something needs your approval, a question is waiting, or a long answer is finished. Saved in this browser.",
    notifications: "Show notifications",
    sound: "Play a sound",
    blocked: "Your browser blocks notifications from this page. Allow them in its site settings.",
    needsHttps: "Notifications need HTTPS, unless the host runs on this computer.",
    events: {
      approval: "Needs your approval",
      question: "The agent has a question",
      plan: "A plan is waiting for your approval",
      done: "Answer finished",
      failed: "The run did not finish",
    },
    writing: "Reading and writing",
    fontSize: "Font size",
    fontSizes: { small: "Small", normal: "Normal", large: "Large", larger: "Larger" },
    sendKey: "Send messages with",
    sendKeys: {
      enter: "Enter (Shift+Enter for a new line)",
      "ctrl-enter": "Ctrl+Enter or ⌘+Enter",
    },
    hideList: "Hide sidebar",
    showList: "Show sidebar",
  },
} as const;
