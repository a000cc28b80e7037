import type { Route } from "../http/index.ts";
import { eventRoutes } from "./events.ts";
import { historyRoutes } from "./history.ts";
import { messageRoutes } from "./messages.ts";
import type { ApiParts } from "./parts.ts";
import { runRoutes } from "./runs.ts";
import { searchRoutes } from "./search.ts";
import { sessionRoutes } from "./sessions.ts";

export type { ApiParts } from "./parts.ts";

/** The part of the contract that this version serves. What is not here is, from outside, not there. */
export function apiRoutes(parts: ApiParts): Route[] {
  return [
    ...sessionRoutes(parts),
    ...messageRoutes(parts),
    ...historyRoutes(parts),
    ...runRoutes(parts),
    ...searchRoutes(parts),
    ...eventRoutes(parts),
  ];
}
