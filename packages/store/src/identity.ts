import type { Holder } from "@holdfast/engine";
import { z } from "zod";

/** Who holds something, as it stands in a row. */
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
