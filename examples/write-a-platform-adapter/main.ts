/** A bot on a custom chat platform: an engine answers, and a gateway connects it to a folder. */
import { mkdirSync } from "node:fs";
import { createClient } from "@holdfast/client";
import { createEngine, systemClock } from "@holdfast/engine";
import { openGateway } from "@holdfast/host/gateway";
import { ids, ownerId } from "@holdfast/protocol";
import { openSqliteStore } from "@holdfast/store";
import { processIdentity } from "@holdfast/store/identity";
import { createFolderAdapter } from "./folder-adapter.ts";
import { model } from "./model.ts";

mkdirSync("chat", { recursive: true });
const store = await openSqliteStore({ file: "conversation.db" });
const engine = createEngine({ store, model });

const gateway = openGateway({
  platform: "folder",
  openAdapter: async () => createFolderAdapter("chat"),
  // Others get a code, and no answer until the owner allows them.
  allowedPeople: ["ann"],
  owner: ownerId.parse("owner"),
  log: engine.log,
  runner: engine,
  memory: engine.memory,
  ids,
  clock: systemClock,
  holder: () => processIdentity.holder("gateway"),
  liveness: processIdentity,
  leaseMs: 30_000,
  // Commands such as /undo call a host's API, and this program has no host.
  client: () =>
    createClient({
      baseUrl: "http://127.0.0.1",
      token: "",
      fetch: async () => new Response(null, { status: 501 }),
    }),
  pushWebhook: undefined,
  onError: (error) => console.error(error),
});
gateway.start();
await gateway.whenOpen;
console.log("Write to chat/inbox.jsonl; the answers are in chat/outbox.jsonl.");

process.once("SIGINT", () => void gateway.stop().then(() => engine.close()));
