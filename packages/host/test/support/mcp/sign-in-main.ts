import { createInterface } from "node:readline";
import { systemClock } from "@holdfast/engine";
import { createLiveness, currentHolder } from "@holdfast/store/identity";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { openSignInRows } from "../../../src/agent/mcp/sign-in/sign-in-rows.ts";
import { createSignIns } from "../../../src/agent/mcp/sign-in/sign-ins.ts";
import { openSecrets } from "../../../src/ops/secrets/secrets.ts";
import { keySettings } from "../providers/models.ts";

/**
 * A host that is asked for the token of the server at `url`, an hour and a half from now: each line gets an answer.
 * `dies`: by SIGKILL, when it is about to store what a refresh has brought.
 */
const [, , home = "", url = "", host = "", manner = ""] = process.argv;
const store = await openSqliteStore({ file: `${home}/holdfast.db` });
let isAsked = false;
const { register } = store;
const { rows } = await openSecrets(
  keySettings(home),
  {
    register: {
      ...register,
      async put(change) {
        // The lease is put by the store itself: this is the row of the tokens.
        if (manner === "dies" && isAsked) process.kill(process.pid, "SIGKILL");
        return register.put(change);
      },
    },
  },
  (error) => {
    throw error;
  },
);
const signIns = createSignIns({
  rows: openSignInRows(rows),
  address: () => "http://127.0.0.1:7000/base",
  egressAllow: [host],
  store,
  clock: systemClock,
  holder: () => currentHolder("test"),
  liveness: createLiveness(),
  now: () => Date.now() + 90 * 60_000,
});
const provider = signIns.providerFor("wiki", url);
process.stdout.write("open\n");
for await (const _ of createInterface(process.stdin)) {
  isAsked = true;
  process.stdout.write(`${(await provider.token()) ?? "none"}\n`);
}
await store.close();
