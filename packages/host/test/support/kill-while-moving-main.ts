import type { Store } from "@holdfast/engine";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { moveTrustFile } from "../../src/agent/workspace-trust.ts";
import { openSecrets } from "../../src/ops/secrets/secrets.ts";
import { keySettings } from "./providers/models.ts";

type Move = (home: string, store: Pick<Store, "register">) => Promise<unknown>;

const moves: Readonly<Record<string, Move>> = {
  secrets: (home, store) => openSecrets(keySettings(home), store, () => undefined),
  trust: (home, { register }) => moveTrustFile(home, register, () => undefined),
};

/** Moves files of a home into its store, and dies by SIGKILL `before` or `after` the given write of a row; 0 is the first. */
const [, , what = "", home = "", when = "", step = ""] = process.argv;
const store = await openSqliteStore({ file: `${home}/holdfast.db` });
let writes = 0;
const { register } = store;
const dies = (at: string): void => {
  if (when === at && writes === Number(step)) process.kill(process.pid, "SIGKILL");
};
await moves[what]?.(home, {
  register: {
    ...register,
    async put(change) {
      dies("before");
      const result = await register.put(change);
      dies("after");
      writes += 1;
      return result;
    },
  },
});
await store.close();
