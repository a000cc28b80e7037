/** Every text of `holdfast usage` beyond its help. A translation replaces this table. */
export const usageStrings = {
  invalidDays: "--days takes a number from 1 to 366.",
  nothing: (days: string) => `No model was called in the last ${days}.`,
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
