import type * as fc from "fast-check";

import type { StoredEvent } from "../events/index.ts";
import { sessionScript } from "./scripts.ts";
import { writeLog } from "./write-log.ts";

export { blankState, readOf } from "./host.ts";
export { testId } from "./write-log.ts";

export const sessionLog: fc.Arbitrary<StoredEvent[]> = sessionScript.map(writeLog);
