import type { ChatAccess } from "../../inbound/chat-access.ts";
import type { WebhookLookup } from "./webhook.ts";

/** Whoever has signed may speak, and nobody else comes as far as here: there is nobody to pair. */
export function webhookAccess(hooks: WebhookLookup): ChatAccess {
  return {
    isAllowed: async () => true,
    requestPairing: async () => "allowed",
    rightsOf: ({ id }) => hooks.find(id) ?? { commands: [], sessions: "own" },
    requests: async () => [],
    pairedPeople: async () => [],
    requestChatOf: async () => null,
    decidePairing: async () => null,
    changePerson: async () => null,
  };
}
