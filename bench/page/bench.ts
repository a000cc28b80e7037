import type { SessionId } from "@holdfast/protocol";
import type { Browser } from "playwright-core";

import type { Place } from "../store/place.ts";
import type { Sizes } from "./sizes.ts";

export interface Bench {
  readonly sizes: Sizes;
  readonly browser: Browser;
  /** A store with one long session of the person that the host serves. */
  readonly prepare: () => Promise<{ readonly place: Place; readonly session: SessionId }>;
}
