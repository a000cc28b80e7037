import type { Guests } from "../../inbound/chat-access.ts";
import type { Hooks } from "./webhook.ts";

/** Whoever has signed may speak, and nobody else comes as far as here: there is nobody to pair. */
export function whoeverSigned(hooks: Hooks): Guests {
  return {
    isAllowed: async () => true,
    meet: async () => "allowed",
    rightsOf: ({ id }) => hooks.find(id) ?? { commands: [], sessions: "own" },
    requests: async () => [],
    paired: async () => [],
    askedIn: async () => null,
    decide: async () => null,
    change: async () => null,
  };
}
