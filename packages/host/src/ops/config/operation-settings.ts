import { z } from "zod";
import { listOf, setting, wholeNumber } from "./setting.ts";

export const roleNames = ["web", "runner", "gateway"] as const;
export type Role = (typeof roleNames)[number];

const dollars = z
  .union([
    z
      .string()
      .regex(/^\d+(\.\d{1,6})?$/)
      .transform(Number),
    z.number(),
  ])
  .pipe(z.number().min(0).max(1_000_000));

/** How a host is operated and monitored. */
export const operationSettings = {
  roles: setting<readonly Role[]>({
    about: "what this process does: several can share one store",
    allowed: "one or more of web, runner and gateway, with commas between them",
    schema: listOf(z.enum(roleNames)).refine((roles) => roles.length > 0),
    fallback: () => roleNames,
    fallbackInWords: "web,runner,gateway",
  }),
  logLevel: setting<"debug" | "info" | "warn" | "error" | "silent">({
    about: "how much is told on standard error",
    allowed: "debug, info, warn, error or silent",
    schema: z.enum(["debug", "info", "warn", "error", "silent"]),
    fallback: () => "warn",
    fallbackInWords: "warn",
  }),
  logFormat: setting<"auto" | "json" | "pretty">({
    about: "the form of what is told",
    allowed: "json (a line each), pretty (for people) or auto (pretty on a terminal)",
    schema: z.enum(["auto", "json", "pretty"]),
    fallback: () => "auto",
    fallbackInWords: "auto",
  }),
  compactIdleMs: setting({
    about: "how long a large conversation is idle before the host compacts it, in milliseconds",
    allowed: "a number of milliseconds from 1000 to 604800000, or 0 (never)",
    schema: wholeNumber(0, 7 * 24 * 3_600_000).refine((ms) => ms === 0 || ms >= 1_000),
    fallback: () => 30 * 60_000,
    fallbackInWords: "1800000",
  }),
  compactIdlePercent: setting({
    about: "how much of its model's window a conversation must fill to be compacted when idle",
    allowed: "a number from 10 to 100, in percent",
    schema: wholeNumber(10, 100),
    fallback: () => 60,
    fallbackInWords: "60",
  }),
  compactionLockMs: setting({
    about: "how long the compaction lock lasts unless it is renewed, in milliseconds",
    allowed: "a number of milliseconds from 10000 to 3600000",
    schema: wholeNumber(10_000, 3_600_000),
    fallback: () => 5 * 60_000,
    fallbackInWords: "300000",
  }),
  spendPerDay: setting<number | undefined>({
    about:
      "the spending limit of an owner for 24 hours, in dollars; runs stop after the step that reaches it",
    allowed: "an amount like 5 or 2.50",
    schema: dollars,
    fallback: () => undefined,
    fallbackInWords: "no limit",
  }),
  spendPerSession: setting<number | undefined>({
    about:
      "the spending limit of one conversation with its delegated tasks, in dollars; its runs stop after the step that reaches it",
    allowed: "an amount like 5 or 2.50",
    schema: dollars,
    fallback: () => undefined,
    fallbackInWords: "no limit",
  }),
  spendPerRun: setting<number | undefined>({
    about:
      "the spending limit of one run with its children, in dollars; they stop after the step that reaches it",
    allowed: "an amount like 1 or 0.25",
    schema: dollars,
    fallback: () => undefined,
    fallbackInWords: "no limit",
  }),
};
