import type { UsageGroup } from "@holdfast/engine";
import { z } from "zod";

export const usageGroupRow: z.ZodType<UsageGroup> = z.object({
  key: z.coerce.string(),
  input: z.coerce.number().pipe(z.int()),
  output: z.coerce.number().pipe(z.int()),
  cacheRead: z.coerce.number().pipe(z.int()),
  cacheWrite: z.coerce.number().pipe(z.int()),
  costMicros: z.coerce.number().pipe(z.int()),
  calls: z.coerce.number().pipe(z.int()),
  sent: z.coerce.number().pipe(z.int()),
});

/** The sums over rows `u` of the table `usage`; `greater` is the database's function for the greater of two numbers. */
export function usageSums(greater: "max" | "greatest"): string {
  return `
    sum(u.input) AS "input", sum(u.output) AS "output", sum(u.cache_read) AS "cacheRead",
    sum(u.cache_write) AS "cacheWrite", sum(u.cost_micros) AS "costMicros", count(*) AS "calls",
    sum(${greater}(u.input, u.cache_read + u.cache_write)) AS "sent"`;
}

export const largestFirst = `ORDER BY "costMicros" DESC, "sent" + "output" DESC, "key"`;
