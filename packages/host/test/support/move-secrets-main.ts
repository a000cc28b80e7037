import { openSqliteStore } from "@holdfast/store/sqlite";
import { openSecrets } from "../../src/ops/secrets/secrets.ts";
import { keySettings } from "./providers/models.ts";

/** Opens the secrets of a home and dies by SIGKILL `before` or `after` the given write of a row; 0 is the first. */
const [, , home = "", when = "", step = ""] = process.argv;
const store = await openSqliteStore({ file: `${home}/holdfast.db` });
let writes = 0;
const { register } = store;
const dies = (at: string): void => {
  if (when === at && writes === Number(step)) process.kill(process.pid, "SIGKILL");
};
await openSecrets(
  keySettings(home),
  {
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
  },
  () => undefined,
);
await store.close();
