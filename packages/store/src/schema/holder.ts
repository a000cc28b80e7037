import type { Holder } from "@holdfast/engine";
import { z } from "zod";

/** A lease holder as a row stores it. */
export const holderSchema: z.ZodType<Holder> = z.object({
  host: z.string(),
  boot: z.string().nullable(),
  pidNamespace: z.string().nullable(),
  pid: z.int(),
  processStart: z.string().nullable(),
  thread: z.int(),
  agent: z.string(),
  nonce: z.string(),
});
