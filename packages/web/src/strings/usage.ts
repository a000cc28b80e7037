import { formatDollars, formatNumber, formatPercent, plural } from "@holdfast/protocol";

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Texts of the page on usage. */
export const usageStrings = {
  usage: {
    period: "Period",
    lastDays: (days: number) => plural(days, { one: "Today", other: "Last # days" }),
    hint: "Tokens sent to models and written by them. Cached input was read from the provider’s cache, at a lower price.",
    nothing: "No model was called in this period.",
    byDay: "By day",
    byModel: "By model",
    bySession: "By conversation",
    bySchedule: "By schedule",
    plot: (days: string) => `Tokens per day, ${days}`,
    bar: (day: string, tokens: string, cost: string) =>
      [`${day}: ${tokens}`, ...(cost === "" ? [] : [cost])].join(", "),
    parts: { cached: "Cached input", fresh: "Other input", output: "Output" },
    limits: {
      title: "Spend limits",
      hint: "In dollars; empty means no limit. A limit applies at once: running answers stop after the current step, and you can continue them when you raise it. Only models with a known price count.",
      raise: {
        session: "Limit for this conversation in dollars",
        day: "Limit for 24 hours in dollars",
        run: "Limit for one answer in dollars",
        confirm: "Raise and continue",
        spent: (spent: string) => `Spent: ${spent}`,
        schedules: "Open schedules",
        configured: "This limit is set where the host is configured: raise it there.",
      },
      perDay: "In 24 hours",
      perSession: "For one conversation, including delegated tasks",
      perRun: "For one answer, including delegated tasks",
      none: "No limit",
    },
    asTable: "Show as a table",
    day: "Day",
    model: "Model",
    session: "Conversation",
    schedule: "Schedule",
    input: "Input",
    output: "Output",
    cached: "Cached",
    cost: "Cost",
    calls: (count: number) => plural(count, { one: "# call", other: "# calls" }),
    tokens: (count: number) => plural(count, { one: "# token", other: "# tokens" }),
    deletedSchedule: "Deleted schedule",
    number: formatNumber,
    shortNumber: (value: number) => compact.format(value),
    share: (share: number | null) => (share === null ? "–" : formatPercent(share)),
    // Without a price nothing is known about the cost.
    money: (costMicros: number) => (costMicros === 0 ? "–" : formatDollars(costMicros)),
  },
} as const;
