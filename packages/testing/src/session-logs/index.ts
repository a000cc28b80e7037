import type * as fc from "fast-check";

import type { StoredEvent } from "@holdfast/protocol";
import { sessionScript } from "./script.ts";
import { writeLog } from "./write-log.ts";

export { emptyState, hostReadOf } from "./session-log.ts";
export { testId } from "./write-log.ts";

export const sessionLog: fc.Arbitrary<StoredEvent[]> = sessionScript.map(writeLog);
