import type { IsFromPerson } from "@holdfast/engine";

import { isChildLane } from "../automation/delegate/child-session.ts";
import { isProcessLane } from "../automation/processes/turns-in-a-row.ts";

const programLanePrefix = "webhook:";

/**
 * What another agent or a program has asked for, or the host has told, is no word of a person's: memory keeps nothing of it,
 * since it would stand in every later session with nobody's leave. What the host tells in a chat has the chat's lane and a
 * name of the host's.
 */
export const isFromPerson: IsFromPerson = (from) =>
  [from.lane, from.clientId].every(
    (name) =>
      !isChildLane(name) && !isProcessLane(name) && name?.startsWith(programLanePrefix) !== true,
  );
