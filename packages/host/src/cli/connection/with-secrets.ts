import type { Config } from "../../ops/config/settings.ts";
import { type OpenedSecrets, openSecrets } from "../../ops/secrets/secrets.ts";
import { openStore } from "../../open-store.ts";
import { done, type Outcome } from "../../util/outcome.ts";

/** Opens the store and its secrets for as long as `work` takes, beside a host that may be running. */
export async function withSecrets<T>(
  config: Config,
  work: (secrets: OpenedSecrets) => Promise<T>,
): Promise<Outcome<T>> {
  const opened = await openStore(config, () => undefined);
  if (!opened.ok) return opened;
  const { store } = opened.value;
  try {
    return done(await work(await openSecrets(config, store, () => undefined)));
  } finally {
    await store.close();
  }
}
