import { plural } from "@holdfast/protocol";

/** Every text of `holdfast usage`. A translation replaces this table. */
export const usageStrings = {
  about:
    "Shows the tokens and the cost of the last days, by day, model, session and schedule, and how much of the input the provider read from its cache.",
  flags: {
    days: "how many days, including today (30)",
    json: "print everything as one line of JSON",
  },
  examples: { month: "the last 30 days", today: "today" },
  invalidDays: "--days must be a whole number from 1 to 366.",
  nothing: (days: number) =>
    plural(days, {
      one: "No model was called today.",
      other: "No model was called in the last # days.",
    }),
  day: "Day",
  model: "Model",
  session: "Session",
  schedule: "Schedule",
  input: "Input",
  output: "Output",
  cached: "Cached",
  cost: "Cost",
  total: "Total",
  untitled: "(untitled)",
  deleted: "(deleted)",
  none: "–",
} as const;
