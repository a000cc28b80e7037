/** Every text of `holdfast rights`. A translation replaces this table. */
export const rightsStrings = {
  about:
    "What a message may do depends on where it comes from. By default, groups have the profile group, webhooks have webhook, and everything else has owner.",
  flags: {
    tools: "tools by name; read_file,wiki__* allows all that begin with wiki__ (all)",
    sessions: "the sessions that can be searched: own, project or all (own)",
    memoryAccess: "access to memory: none, read or write (none)",
    approvals: "whether approvals can be answered: yes or no (no)",
    spend: "spending limit in dollars for 24 hours (none)",
  },
  examples: {
    list: "the profiles, and who has which",
    set: "a profile of your own",
    give: "assign it to this webhook",
    default: "back to the default",
  },
  tools: (names: readonly string[]) =>
    names.length === 0 ? "no tools" : `tools ${names.join(",")}`,
  sessions: (reach: string) => `sessions ${reach}`,
  memory: (access: string) => `memory ${access}`,
  answersApprovals: "answers approvals",
  answersNoApprovals: "cannot answer approvals",
  spend: (dollars: string) => `${dollars} a day`,
  builtIn: "built in",
  setNeedsName: "rights set needs one name, like holdfast rights set readers",
  badApprovals: "--approvals must be yes or no.",
  badSpend: "--spend must be a number of dollars, like 2.50.",
  notAProfile: (name: string) =>
    `"${name}" is not the name of a profile. holdfast rights lists them.`,
  removed: (name: string) => `Removed: ${name}`,
  giveNeedsBoth:
    "rights give needs a subject and a profile. The subject is groups, webhooks, schedules, children, editors, webhook:NAME, schedule:ID or lane:LANE.",
  given: (who: string, profile: string) => `${who}: ${profile}`,
  theDefault: "the default",
} as const;
