import type { BackgroundWorker } from "../../../automation/workers.ts";
import type { Logger } from "../../../ops/telemetry/logger.ts";
import type { ModelRegistry } from "../registry.ts";

/** Once the host is serving, learns which models servers offer, and warns if spend limits cannot count one. */
export function createModelDiscovery(
  models: Pick<ModelRegistry, "prepare" | "account">,
  logger: Pick<Logger, "info">,
): BackgroundWorker {
  async function discover(): Promise<void> {
    const names = await models.prepare();
    for (const provider of ["openai-compatible", "ollama"] as const) {
      const count = names.filter((name) => name.startsWith(`${provider}/`)).length;
      const account = models.account(provider);
      if (count > 0 && "baseUrl" in account)
        logger.info(`models found at ${account.baseUrl}`, { provider, count });
    }
  }
  return {
    // Without an address there is no page to choose a model on.
    start: (address) => void (address !== null && discover()),
    stop: async () => {},
  };
}
