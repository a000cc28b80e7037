import type { BackgroundWorker } from "../../../automation/workers.ts";
import type { Logger } from "../../../ops/telemetry/logger.ts";
import type { ModelRegistry } from "../registry.ts";

/** After a host has begun to serve: what do servers offer, and does a price bind the spend limits? */
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
    // Without a page nobody would choose one.
    start: (address) => void (address !== null && discover()),
    stop: async () => {},
  };
}
