import type { Config } from "../../ops/config/settings.ts";
import { createModelRegistry, type ModelRegistry } from "./registry.ts";
import { openSecrets, type Secrets } from "../../ops/secrets/secrets.ts";

/** The models that the settings, the environment and the stored keys give. A provider is loaded when it is first asked. */
export function openModelRegistry(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  report: (error: Error) => void,
): { readonly models: ModelRegistry; readonly secrets: Secrets } {
  const secrets = openSecrets(config.home.value, report);
  return { secrets, models: createModelRegistry({ config, environment, secrets }) };
}
