import { plural } from "@holdfast/protocol";

/** Every text of `holdfast schedules`. A translation replaces this table. */
export const schedulesStrings = {
  about:
    "A schedule sends a prompt at set times, while a host runs. Name one by its id, the end of its id, or words of its title.",
  flags: {
    at: "times of day, like 08:00 or 08:00,20:00",
    days: "on these days, like mon,fri (every day)",
    every: "or at an interval, like 30m, 2h or 1d",
    cron: 'or by cron, like "0 8 * * mon-fri"',
    date: "once, on a date like 2026-12-24; needs --at",
    zone: "a time zone like Europe/Berlin (this machine's)",
    session: "the session that gets the prompt (by default one of its own)",
    lane: "or the chat that gets it, as holdfast gateway lists it",
    title: "what to call it (the beginning of the prompt)",
    missed: "what to do about missed times: skip or once (skip)",
    limit: "its spending limit per period, like 5/month, 1.50/week or none",
    changes: "deliver an answer only if something changed",
  },
  examples: {
    list: "every schedule, and when it runs next",
    add: "on Mondays and Fridays, in this session",
    changes: "every two hours; you only hear of it if something changed",
    off: "pause it; on brings it back",
  },
  none: "No schedules yet. Examples: holdfast schedules --help",
  next: (time: string) => `, next ${time}`,
  cost: (dollars: string, days: number) =>
    `, ${dollars} in ${plural(days, { one: "# day", other: "# days" })}`,
  promptMissing: 'schedules add needs a prompt, in quotation marks: "What is new?"',
  badInterval: "--every takes a number of minutes, hours or days: 30m, 2h or 1d.",
  badLimit: "--limit takes dollars and a period: 0.50/day, 2/week, 5/month, or none.",
  timesMissing: "When? Give --at, like --at 08:00, or --every 2h, or --cron.",
  dateNeedsTime: "--date needs a time as well, like --at 08:00.",
  ownSession: (id: string) => `It has a session of its own: holdfast chat --session ${id}`,
  noSession: (query: string) => `No session matches "${query}". holdfast sessions list shows them.`,
  severalSessions: (query: string) =>
    `Several sessions match "${query}". Name one by its id; holdfast sessions list shows them.`,
  nameMissing: "Name a schedule; holdfast schedules lists them.",
  noMatch: (query: string) =>
    `No schedule matches "${query}". holdfast schedules lists them with their ids.`,
  severalMatch: (query: string) =>
    `Several schedules match "${query}". Name one by the end of its id; holdfast schedules lists them.`,
  removed: (title: string) => `Removed: ${title}. Its answers stay.`,
} as const;
