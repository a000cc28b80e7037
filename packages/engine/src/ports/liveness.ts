import type { Holder } from "./rows.ts";

/**
 * Whether the holder of a lease still lives, as far as this host can tell. `dead` is a proof: every part of the
 * identity is known and the process that it names is gone. A holder on another host, in another container or
 * with a part that is not known is `unknown`.
 */
export interface Liveness {
  isDead(holder: Holder): "dead" | "alive" | "unknown";
}
